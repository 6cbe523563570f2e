// Statistical tests: whether two samples differ, by how much, and with what certainty.
//
// docs/comparing.md describes the resampling and the tests' assumptions for users.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Welch's two-sided t-test of equal means. Returns the p-value. Both samples need at least two values. If neither
/// varies: 1 if they are equal, otherwise 0.
[[nodiscard]] double welch_test(std::span<const double> first, std::span<const double> second);

/// The p-value of a two-sided t-test with statistic t and these degrees of freedom.
[[nodiscard]] double student_p_value(double t, double degrees_of_freedom);

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

/// The runs of one side: ascending values of each, none empty.
using Runs = std::span<const std::vector<double>>;

/// Bootstrap of the differences of medians and of 95th percentiles (nearest rank), with percentile intervals.
///
/// With one run per side, its values are drawn with replacement. With several runs, a side's quantile is the mean of
/// its runs' quantiles. Runs are drawn with replacement first, then values within each drawn run.
///
/// No resample is written out. The k-th smallest of n draws is the value at floor(n * the k-th smallest of n uniform
/// numbers), and those are ratios of gamma-distributed numbers. About 150 ns a run and resample, for any n.
[[nodiscard]] QuantileDifferences bootstrap_differences(Runs base, Runs changed, std::size_t resamples,
                                                        RandomSource random);

}  // namespace kymo::stats
