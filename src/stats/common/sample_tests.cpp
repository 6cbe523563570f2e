#include "stats/common/sample_tests.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kymo::stats {

namespace {

constexpr std::size_t most_exact_pairs = 2500;

/// U of the second sample, and the ties' reduction of its variance.
struct RankSums {
  double u = 0;
  double ties = 0;  // the sum of t^3 - t over groups of t equal values
  bool has_ties = false;
};

RankSums rank(std::span<const double> first, std::span<const double> second) {
  RankSums sums;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < first.size() || j < second.size()) {
    const double value = j == second.size() || (i < first.size() && first[i] <= second[j]) ? first[i] : second[j];
    const std::size_t below = i;
    const std::size_t begin = j;
    while (i < first.size() && first[i] == value) {
      ++i;
    }
    while (j < second.size() && second[j] == value) {
      ++j;
    }
    const auto of_first = static_cast<double>(i - below);
    const auto of_second = static_cast<double>(j - begin);
    sums.u += of_second * (static_cast<double>(below) + of_first / 2);
    const double tied = of_first + of_second;
    sums.ties += tied * tied * tied - tied;
    sums.has_ties = sums.has_ties || tied > 1;
  }
  return sums;
}

/// The probability that U is at most `u` if both samples come from one distribution. Counts the arrangements as
/// coefficients of the Gaussian binomial, the product of (1 - q^(m+i)) / (1 - q^i) for i = 1 to n.
double exact_tail(std::size_t n, std::size_t m, std::size_t u) {
  std::vector<double> counts(u + 1, 0.0);
  counts[0] = 1;
  double all = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    for (std::size_t k = i; k <= u; ++k) {
      counts[k] += counts[k - i];
    }
    for (std::size_t k = u; k >= m + i && k <= u; --k) {
      counts[k] -= counts[k - m - i];
    }
    all = all * static_cast<double>(m + i) / static_cast<double>(i);
  }
  return std::accumulate(counts.begin(), counts.end(), 0.0) / all;
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int i = 1; i <= 10'000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= c * d;
    if (std::fabs(c * d - 1) < 1e-15) {
      break;
    }
  }
  return result;
}

/// The regularized incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast only on its side of the mean.
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// The median and the 95th percentile of a sample.
struct Quantiles {
  double median = 0;
  double p95 = 0;
};

Quantiles quantiles_of(std::span<const double> ascending) {
  return {percentile_of(ascending, 50), percentile_of(ascending, 95)};
}

/// Of n uniform numbers, the k-th and the l-th smallest are a / (a + b + c) and (a + b) / (a + b + c), where a, b and c
/// are gamma-distributed with the shapes k, l - k and n + 1 - l.
Quantiles resample(std::span<const double> ascending, RandomSource& random) {
  const std::size_t count = ascending.size();
  const std::size_t median = percentile_rank(count, 50);
  const std::size_t p95 = percentile_rank(count, 95);
  const double a = random.gamma(static_cast<double>(median));
  const double b = random.gamma(static_cast<double>(p95 - median));
  const double c = random.gamma(static_cast<double>(count + 1 - p95));
  const double scale = static_cast<double>(count) / (a + b + c);
  const auto at = [&](double place) { return ascending[std::min(static_cast<std::size_t>(place), count - 1)]; };
  return {at(a * scale), at((a + b) * scale)};
}

/// The middle 95 % of the values, which are reordered.
Interval middle_of(std::vector<double>& values) {
  const std::size_t tail = std::max<std::size_t>(values.size() / 40, 1) - 1;
  const auto at = [&values](std::size_t place) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
    return values[place];
  };
  return {at(tail), at(values.size() - 1 - tail)};
}

}  // namespace

double unbiased_percentile_of(std::span<const double> ascending, unsigned percent, double errors) {
  const auto count = static_cast<double>(ascending.size());
  const double share = percent / 100.0;
  const double place = (count + 1.0 / 3) * share + 1.0 / 3 + errors * std::sqrt(count * share * (1 - share));  // from 1
  if (place <= 1) {
    return ascending.front();
  }
  if (place >= count) {
    return ascending.back();
  }
  const auto below = static_cast<std::size_t>(place);
  const double beyond = place - static_cast<double>(below);
  return ascending[below - 1] + beyond * (ascending[below] - ascending[below - 1]);
}

RankTest mann_whitney(std::span<const double> first, std::span<const double> second) {
  const auto n = static_cast<double>(first.size());
  const auto m = static_cast<double>(second.size());
  const RankSums sums = rank(first, second);
  RankTest test;
  test.u = sums.u;
  test.greater = sums.u / (n * m);
  if (!sums.has_ties && n * m <= static_cast<double>(most_exact_pairs)) {
    const double least = std::min(sums.u, n * m - sums.u);
    const std::size_t fewer = std::min(first.size(), second.size());
    const std::size_t more = std::max(first.size(), second.size());
    test.is_exact = true;
    test.p_value = std::min(1.0, 2 * exact_tail(fewer, more, static_cast<std::size_t>(least)));
    return test;
  }
  const double all = n + m;
  const double variance = n * m / 12 * (all + 1 - sums.ties / (all * (all - 1)));
  if (!(variance > 0)) {
    return test;  // all values are equal
  }
  const double distance = std::fabs(sums.u - n * m / 2) - 0.5;
  test.p_value = std::min(1.0, std::erfc(distance / std::sqrt(2 * variance)));
  return test;
}

double student_p_value(double t, double degrees_of_freedom) {
  return incomplete_beta(degrees_of_freedom / 2, 0.5, degrees_of_freedom / (degrees_of_freedom + t * t));
}

double student_quantile(double p_value, double degrees_of_freedom) {
  double high = 1;
  while (student_p_value(high, degrees_of_freedom) > p_value) {
    high *= 2;
  }
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (student_p_value(middle, degrees_of_freedom) > p_value ? low : high) = middle;
  }
  return high;
}

std::vector<double> correct_p_values(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> corrected(p_values.size());
  double least = 1;
  for (std::size_t place = order.size(); place-- > 0;) {
    least =
        std::min(least, p_values[order[place]] * static_cast<double>(order.size()) / static_cast<double>(place + 1));
    corrected[order[place]] = least;
  }
  return corrected;
}

double share_of(double difference, double base) {
  if (base != 0) {
    return difference / std::fabs(base);
  }
  return difference == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : std::copysign(std::numeric_limits<double>::infinity(), difference);
}

QuantileDifferences bootstrap_differences(std::span<const double> base, std::span<const double> changed,
                                          std::size_t resamples, RandomSource random) {
  const Quantiles base_quantiles = quantiles_of(base);
  const Quantiles new_quantiles = quantiles_of(changed);
  struct Draws {
    explicit Draws(std::size_t count) : differences(count), shares(count) {}
    void put(std::size_t i, double from, double to) {
      differences[i] = to - from;
      const double share = share_of(to - from, from);
      shares[i] = std::isnan(share) ? 0 : share;
    }
    std::vector<double> differences;
    std::vector<double> shares;
  };
  Draws medians(resamples);
  Draws p95s(resamples);
  for (std::size_t i = 0; i < resamples; ++i) {
    const Quantiles a = resample(base, random);
    const Quantiles b = resample(changed, random);
    medians.put(i, a.median, b.median);
    p95s.put(i, a.p95, b.p95);
  }
  QuantileDifferences differences;
  differences.base_median = base_quantiles.median;
  differences.new_median = new_quantiles.median;
  differences.base_p95 = base_quantiles.p95;
  differences.new_p95 = new_quantiles.p95;
  if (resamples != 0) {
    differences.median = middle_of(medians.differences);
    differences.p95 = middle_of(p95s.differences);
    differences.median_share = middle_of(medians.shares);
    differences.p95_share = middle_of(p95s.shares);
  }
  return differences;
}

}  // namespace kymo::stats
