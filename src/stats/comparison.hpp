// Two sides compared, thing by thing: by how much they differ and whether that is more than chance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stats/sample_tests.hpp"
#include "stats/side_samples.hpp"

namespace kymo::stats {

enum class Verdict : std::uint8_t {
  worse,            ///< durations: takes longer
  better,           ///< durations: takes less
  differs,          ///< metrics of which nobody says whether more is better
  same,             ///< no difference that chance would not make as well
  too_few_samples,  ///< on a side
};

/// A side of a thing.
struct ComparedSide {
  std::uint64_t count = 0;  ///< in the captures
  std::size_t kept = 0;     ///< of them in the numbers
  std::size_t runs = 0;     ///< that have any
  double median = 0;        ///< by run: the mean of the runs' medians; so p95
  double p95 = 0;
  std::uint32_t line = 0;
};

struct ComparedThing {
  ThingName name;  ///< as the base has it
  ComparedSide base;
  ComparedSide changed;
  bool by_run = false;              ///< runs were resampled and compared, since both sides have enough of them
  std::optional<Interval> median;   ///< of the difference of the medians, 95 %; none with too few samples
  std::optional<Interval> p95;      ///< the same; none with fewer than 20 samples on a side
  double greater = 0.5;             ///< how often a new value is greater than one of the base
  std::optional<double> rank_test;  ///< p-values; none with too few samples
  std::optional<double> run_test;   ///< by run only
  std::optional<double> p_value;    ///< what the verdict goes by: the greater one of both
  std::optional<double> q_value;    ///< p_value corrected for how many things of its kind were tested
  Verdict verdict = Verdict::too_few_samples;
  const ThingSamples* base_samples = nullptr;  ///< point into the sides
  const ThingSamples* changed_samples = nullptr;

  [[nodiscard]] double median_difference() const { return changed.median - base.median; }
  [[nodiscard]] double p95_difference() const { return changed.p95 - base.p95; }
  /// Whether it got slower by at least this share of the base: its verdict is worse, and its median did, or its 95th
  /// percentile did with an interval that is all above zero.
  [[nodiscard]] bool regressed_by(double share) const;
};

/// `difference` as a share of `base`; NaN where both are 0, infinite where only the base is.
[[nodiscard]] double share_of(double difference, double base);

/// What has a partner of the same name whose numbers mean something else.
struct OtherUnits {
  ThingName base;
  std::string changed_unit;
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
