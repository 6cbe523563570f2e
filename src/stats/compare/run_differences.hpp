// Tests whether the runs of two sides differ by more than runs differ among themselves.
//
// docs/comparing.md describes the model and its assumptions for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <kymo/comparison.hpp>

namespace kymo::stats {

/// One percentile of one thing in one run.
struct RunLevel {
  double value = 0;
  double low = 0;  ///< and high: a standard error below and above, as far as the values of the run tell
  double high = 0;
};

/// The same percentile of one thing in every run of both sides.
struct RunLevels {
  /// By number of the run; none if a run has none of the thing. At least two of each side are known.
  std::vector<std::optional<RunLevel>> base;
  std::vector<std::optional<RunLevel>> changed;
  double step = 0;        ///< values are multiples of this, so that equal levels may differ by less; 0: of any size
  unsigned percent = 50;  ///< which percentile: only levels of the same share their variances
};

struct RunDifference {
  double base = 0;  ///< mean level: geometric if all levels are positive, otherwise arithmetic
  double changed = 0;
  Interval difference;          ///< 95 % interval of changed - base
  Interval share;               ///< the same as a share of the base
  double p_value = 1;           ///< of a moderated t-test; at most 0.05 where the interval does not hold 0
  double adjusted_p_value = 1;  ///< the probability that equal sides have any p-value this small in the whole family
  /// How many more runs a side would give an adjusted p-value up to the level in 4 of 5 comparisons, if the difference
  /// is as large as measured. None where it is already, and where it would be more than `most_runs_advised`.
  std::optional<std::size_t> more_runs;
};

constexpr std::size_t most_runs_advised = 100;

struct RunTestOptions {
  std::uint64_t seed = 1;
  std::size_t rotations = 10'000;
  double level = 0.05;  ///< of adjusted p-values, for `more_runs`
};

/// Tests one family of levels. All have the same number of runs.
///
/// - Levels are compared by their logarithms, since noise is a share of the duration; levels that are not all positive
///   are compared as they are.
/// - Variances between runs are moderated by those of the others of their quantile (VariancePrior).
/// - A moderated variance is at least what the values within the runs say about the error of the difference.
/// - The moderated variance has no more degrees of freedom than all variances together, and things that rise and
///   fall together count less: n^2 over the sum of the squared correlations of all pairs (Satterthwaite's approximation).
/// - If one side has fewer runs and varies more, variances are weighted as in Welch's test, by one factor for all
///   things.
/// - The adjusted p-value is by rotation (Langsrud, "Rotation tests", Statistics and Computing 15, 2005): the levels of
///   all
///   runs, less their mean, are rotated at random, all by the same rotation, and the greatest statistic of each rotation is
///   noted. This keeps how things depend on each other, whatever it is. It is exact if levels are normally distributed
///   with the same variance in both sides.
///
/// Takes about 30 ns for each of the levels and rotations.
[[nodiscard]] std::vector<RunDifference> test_runs(const std::vector<RunLevels>& family, const RunTestOptions& options);

}  // namespace kymo::stats
