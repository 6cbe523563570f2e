#include "stats/common/moderated_variance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kymo::stats {

namespace {

/// From here on, the asymptotic series below are exact to a double's precision.
constexpr double large = 12;

/// The derivative of trigamma.
double tetragamma(double x) {
  double sum = 0;
  for (; x < large; ++x) {
    sum -= 2 / (x * x * x);
  }
  const double y = 1 / (x * x);
  return sum - y * (1 + 1 / x + y * (0.5 - y * (1.0 / 6 - y * (1.0 / 6 - y * (0.3 - y * 5.0 / 6)))));
}

}  // namespace

double digamma(double x) {
  double sum = 0;
  for (; x < large; ++x) {
    sum -= 1 / x;
  }
  const double y = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x -
         y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * 691.0 / 32760)))));
}

double trigamma(double x) {
  double sum = 0;
  for (; x < large; ++x) {
    sum += 1 / (x * x);
  }
  const double y = 1 / (x * x);
  return sum + y / 2 + (1 + y * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y * (1.0 / 30 - y * 5.0 / 66))))) / x;
}

double trigamma_inverse(double y) {
  // Beyond these, the first terms of the series are enough.
  if (y > 1e7) {
    return 1 / std::sqrt(y);
  }
  if (y < 1e-6) {
    return 1 / y + 0.5;
  }
  // Newton's method on 1 / trigamma, which is convex and nearly linear: it converges from below.
  double x = 0.5 + 1 / y;
  for (int i = 0; i < 50; ++i) {
    const double value = trigamma(x);
    const double step = value * (1 - value / y) / tetragamma(x);
    x += step;
    if (-step < 1e-12 * x) {
      break;
    }
  }
  return x;
}

double VariancePrior::moderate(double observed, double degrees_of_observed) const {
  if (std::isinf(degrees)) {
    return variance;
  }
  return (degrees * variance + degrees_of_observed * observed) / (degrees + degrees_of_observed);
}

VariancePrior fit_prior(std::span<double> variances, double degrees) {
  if (variances.size() < least_variances) {
    return {};
  }
  const auto middle = variances.begin() + static_cast<std::ptrdiff_t>(variances.size() / 2);
  std::nth_element(variances.begin(), middle, variances.end());
  double median = *middle;
  if (variances.size() % 2 == 0) {
    median = (median + *std::max_element(variances.begin(), middle)) / 2;
  }
  if (!(median > 0)) {
    return {};
  }
  const auto count = static_cast<double>(variances.size());
  double mean = 0;
  double mean_log = 0;
  double squares = 0;
  double seen = 0;
  for (const double variance : variances) {
    const double value = std::max(variance, 1e-5 * median);
    const double log = std::log(value);
    mean += value / count;
    const double distance = log - mean_log;
    mean_log += distance / ++seen;
    squares += distance * (log - mean_log);
  }
  const double excess = squares / (count - 1) - trigamma(degrees / 2);
  if (!(excess > 0)) {
    return {std::numeric_limits<double>::infinity(), mean};
  }
  VariancePrior prior;
  prior.degrees = 2 * trigamma_inverse(excess);
  prior.variance = std::exp(mean_log - digamma(degrees / 2) + std::log(degrees / 2) + digamma(prior.degrees / 2) -
                            std::log(prior.degrees / 2));
  return prior;
}

}  // namespace kymo::stats
