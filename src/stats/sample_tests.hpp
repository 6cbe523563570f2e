// Do two samples differ, by how much, and how sure is that.
//
// What is resampled and what the tests assume is told to users in docs/comparing.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <kymo/comparison.hpp>

#include "stats/random_source.hpp"

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

/// A two-sided Mann-Whitney U test.
struct RankTest {
  double u = 0;        ///< pairs in which the value of the second sample is the greater one, ties counting half
  double p_value = 1;  ///< how often samples of one distribution would differ as much or more
  bool is_exact = false;
  double greater = 0.5;  ///< u as a share of all pairs: how often a value of the second is the greater one
};

/// Tests two samples, each ascending, not empty and without NaN. Exact where no values are equal and there are at most
/// 2,500 pairs, else by normal approximation with corrections for ties and for continuity. Linear in time.
[[nodiscard]] RankTest mann_whitney(std::span<const double> first, std::span<const double> second);

/// Welch's t-test of equal means, two-sided: the p-value. Both with at least two values. Where neither varies: 1 if
/// they are equal, else 0.
[[nodiscard]] double welch_test(std::span<const double> first, std::span<const double> second);

/// The p-value of a two-sided t-test with the value t and so many degrees of freedom.
[[nodiscard]] double student_p_value(double t, double degrees_of_freedom);

/// Benjamini and Hochberg's correction for many tests: the least rate of false discoveries at which each would be one.
/// In the order of the input.
[[nodiscard]] std::vector<double> correct_p_values(std::span<const double> p_values);

using kymo::Interval;

/// `difference` as a share of `base`; NaN where both are 0, infinite where only the base is.
[[nodiscard]] double share_of(double difference, double base);

/// The median and the 95th percentile of a side, and what resampling says of the differences between two.
struct QuantileDifferences {
  double base_median = 0;
  double new_median = 0;
  double base_p95 = 0;
  double new_p95 = 0;
  Interval median;  ///< 95 % interval of new_median - base_median
  Interval p95;
  /// The same of the difference as a share of the base, each resample's of its own base: of values that are never
  /// negative it does not go below -1. An end is infinite where that many resamples have 0 for a base.
  Interval median_share;
  Interval p95_share;
};

/// The runs of one side: ascending values of each, none empty.
using Runs = std::span<const std::vector<double>>;

/// Bootstrap of the differences of medians and of 95th percentiles (by nearest rank), percentile intervals.
///
/// One run a side: its values are drawn with replacement. Several: a quantile of a side is the mean of its runs'
/// quantiles, and runs are drawn with replacement first, then values within each run that was drawn.
///
/// No resample is ever written out: the k-th smallest of n draws is the value at floor(n * the k-th smallest of n
/// uniform numbers), and those are ratios of gamma-distributed numbers. About 150 ns a run and resample, for any n.
[[nodiscard]] QuantileDifferences bootstrap_differences(Runs base, Runs changed, std::size_t resamples,
                                                        RandomSource random);

}  // namespace kymo::stats
