// Compares two sides thing by thing: the size of each difference, and whether it exceeds chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kymo/comparison.hpp>

#include "stats/common/sample_tests.hpp"
#include "stats/compare/side_samples.hpp"

namespace kymo::stats {

using kymo::ComparedSide;
using kymo::OtherUnits;
using kymo::Verdict;

/// With the samples it was judged by.
struct ComparedThing : kymo::ComparedThing {
  const ThingSamples* base_samples = nullptr;  ///< point into the sides
  const ThingSamples* changed_samples = nullptr;
};

struct ComparisonOptions {
  std::uint64_t seed = 1;
  std::size_t resamples = 10'000;
  std::size_t rotations = 10'000;
  /// By run: the greatest adjusted p-value of what differs. Of 100 comparisons of equal programs, at most 5 have a
  /// false alarm: 4 among the durations and 1 among the metrics.
  double level_of_durations = 0.04;
  double level_of_metrics = 0.01;
  /// By samples. At exactly 0.05, half of all batches of 1,000 equal pairs would give over 50 false alarms; this level
  /// almost never does.
  double false_discovery_rate = 0.03;
};

/// Minimum of samples on a side: no rank test of fewer can be certain enough.
constexpr std::size_t least_samples = 5;
/// Runs are compared if both sides have this many: fewer do not tell how much runs vary.
constexpr std::size_t least_runs = 2;
/// Fewer runs a side find only large differences.
constexpr std::size_t recommended_runs = 3;

struct Comparison {
  /// Durations before metrics; each by verdict, then by the total time (metrics: the share) of the difference.
  std::vector<ComparedThing> things;
  std::vector<ThingName> only_in_base;
  std::vector<ThingName> only_in_new;
  std::vector<OtherUnits> other_units;
};

/// Matches things by name and tests each. Sites match by name, function and file, or by name alone if that is
/// unambiguous. About 5 ms for a thing with thousands of samples and one run per side, 2 ms with more.
[[nodiscard]] Comparison compare(const SideSamples& base, const SideSamples& changed,
                                 const ComparisonOptions& options = {});

/// Whether a unit is one of time, so that less is better.
[[nodiscard]] bool is_time(const std::string& unit);

}  // namespace kymo::stats
