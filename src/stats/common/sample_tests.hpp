// Statistical tests: whether two samples differ, by how much, and with what certainty.
//
// docs/comparing.md describes the resampling and the tests' assumptions for users.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <kymo/comparison.hpp>

#include "stats/common/random_source.hpp"

namespace kymo::stats {

/// The rank of a percentile among `count` values by nearest rank, from 1: ceil(percent / 100 * count). count > 0.
[[nodiscard]] constexpr std::size_t percentile_rank(std::size_t count, unsigned percent) {
  const std::size_t rank = (count * percent + 99) / 100;
  return rank == 0 ? 1 : rank;
}

/// The percentile of ascending values by nearest rank. Not empty.
[[nodiscard]] inline double percentile_of(std::span<const double> ascending, unsigned percent) {
  return ascending[percentile_rank(ascending.size(), percent) - 1];
}

/// The percentile of ascending values by Hyndman and Fan's definition 8, which interpolates: its median over samples is
/// the true percentile whatever their number, nearly so for any distribution. Not empty. `errors`: so many standard
/// errors higher, by the binomial distribution of the rank (Woodruff 1952), within the values.
[[nodiscard]] double unbiased_percentile_of(std::span<const double> ascending, unsigned percent, double errors = 0);

/// The upper median of values, which are reordered; 0 without any.
template <typename Value>
[[nodiscard]] Value upper_median(std::vector<Value>& values) {
  if (values.empty()) {
    return 0;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A two-sided Mann-Whitney U test.
struct RankTest {
  double u = 0;        ///< pairs in which the value of the second sample is greater; ties count half
  double p_value = 1;  ///< probability of a difference at least this large between samples of one distribution
  bool is_exact = false;
  double greater = 0.5;  ///< u as a share of all pairs: how often a value of the second is greater
};

/// Tests two samples, each ascending, not empty and without NaN. Exact without ties and up to 2,500 pairs; otherwise by
/// normal approximation with corrections for ties and continuity. Linear time.
[[nodiscard]] RankTest mann_whitney(std::span<const double> first, std::span<const double> second);

/// The p-value of a two-sided t-test with statistic t and these degrees of freedom.
[[nodiscard]] double student_p_value(double t, double degrees_of_freedom);

/// The statistic whose two-sided p-value is this one: 0 < p_value < 1. About 50 us.
[[nodiscard]] double student_quantile(double p_value, double degrees_of_freedom);

/// Benjamini and Hochberg's correction for many tests: for each test, the lowest false discovery rate at which it is
/// significant. In the order of the input.
[[nodiscard]] std::vector<double> correct_p_values(std::span<const double> p_values);

using kymo::Interval;

/// `difference` as a share of `base`; NaN if both are 0, infinite if only the base is 0.
[[nodiscard]] double share_of(double difference, double base);

/// The median and the 95th percentile of a side, and bootstrap intervals of the differences between two sides.
struct QuantileDifferences {
  double base_median = 0;
  double new_median = 0;
  double base_p95 = 0;
  double new_p95 = 0;
  Interval median;  ///< 95 % interval of new_median - base_median
  Interval p95;
  /// The same for the difference as a share of the base, each resample's share of its own base. It does not go below -1
  /// if values are never negative. An end is infinite if that many resamples have a base of 0.
  Interval median_share;
  Interval p95_share;
};

/// Bootstrap of the differences of medians and of 95th percentiles (nearest rank) of two samples, each ascending and
/// not empty, with percentile intervals.
///
/// No resample is written out. The k-th smallest of n draws is the value at floor(n * the k-th smallest of n uniform
/// numbers), and those are ratios of gamma-distributed numbers. About 300 ns a resample, for any n.
[[nodiscard]] QuantileDifferences bootstrap_differences(std::span<const double> base, std::span<const double> changed,
                                                        std::size_t resamples, RandomSource random);

}  // namespace kymo::stats
