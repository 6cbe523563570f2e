// Two sides compared, thing by thing: by how much they differ and whether that is more than chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kymo/comparison.hpp>

#include "stats/sample_tests.hpp"
#include "stats/side_samples.hpp"

namespace kymo::stats {

using kymo::ComparedSide;
using kymo::OtherUnits;
using kymo::Verdict;

/// With the samples that it was judged by.
struct ComparedThing : kymo::ComparedThing {
  const ThingSamples* base_samples = nullptr;  ///< point into the sides
  const ThingSamples* changed_samples = nullptr;
};

struct ComparisonOptions {
  std::uint64_t seed = 1;
  std::size_t resamples = 10'000;
  /// Things differ whose q-value is at most this. A level of exactly 0.05 would raise more than 50 false alarms in
  /// every second thousand of comparisons of equals; this one hardly ever does.
  double false_discovery_rate = 0.03;
};

/// Fewer than this many samples on a side are too few: no rank test of fewer can be sure enough.
constexpr std::size_t least_samples = 5;
/// With this many runs on both sides, runs are compared.
constexpr std::size_t least_runs = 3;

struct Comparison {
  /// Worse first, then better, differs, same, too few; within each by how much time (metrics: share) it makes.
  std::vector<ComparedThing> things;
  std::vector<ThingName> only_in_base;
  std::vector<ThingName> only_in_new;
  std::vector<OtherUnits> other_units;
};

/// Matches things by name and tests each. Sites match by name, function and file, else by name alone where that is
/// clear. Costs about 5 ms a thing with thousands of samples and one run a side.
[[nodiscard]] Comparison compare(const SideSamples& base, const SideSamples& changed,
                                 const ComparisonOptions& options = {});

/// Whether a unit is one of time, so that less is better.
[[nodiscard]] bool is_time(const std::string& unit);

}  // namespace kymo::stats
