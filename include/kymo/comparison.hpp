// Compares two captures, or two sets of captures: the size of each difference, and whether it exceeds chance.
// docs/comparing.md describes the tests.
//
//     for (const kymo::ComparedThing& thing : kymo::compare_captures({"base.kymo"}, {"new.kymo"}).things) { ... }
//
// Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// `cpu_time` is that of a site's scopes, beside their durations.
enum class ThingKind : std::uint8_t { site, span, frames, metric, function, cpu_time };

/// Name for tables: "scope", "span", "frames", "metric", "function", "CPU time".
[[nodiscard]] constexpr std::string_view name_of(ThingKind kind) noexcept {
  switch (kind) {
    case ThingKind::site:
      return "scope";
    case ThingKind::span:
      return "span";
    case ThingKind::frames:
      return "frames";
    case ThingKind::function:
      return "function";
    case ThingKind::cpu_time:
      return "CPU time";
    case ThingKind::metric:
      break;
  }
  return "metric";
}

/// Identifies a thing across captures: two things are the same if all of these are equal.
struct ThingName {
  ThingKind kind = ThingKind::site;
  std::string name;
  std::string function;  ///< sites, CPU times
  std::string
      file;  ///< sites, CPU times, functions (the module): without its directory, so that builds in other places match
  std::string labels;  ///< metrics: "key=value", separated by spaces
  std::string unit;    ///< metrics; counters have the unit of their rate. "ns" for everything else

  friend bool operator<(const ThingName& a, const ThingName& b) {
    return std::tie(a.kind, a.name, a.function, a.file, a.labels, a.unit) <
           std::tie(b.kind, b.name, b.function, b.file, b.labels, b.unit);
  }
  friend bool operator==(const ThingName& a, const ThingName& b) { return !(a < b) && !(b < a); }
};

/// A confidence interval.
struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};

/// Verdicts "here" are about the recordings, since one side has a single run of the thing: the next run of the same
/// program may differ as much.
enum class Verdict : std::uint8_t {
  worse,    ///< durations: longer
  better,   ///< durations: shorter
  differs,  ///< metrics without a known better direction; durations of which one quantile rose and one fell
  worse_here,
  better_here,
  differs_here,
  unclear,  ///< an interval does not hold zero, but the test does not exclude chance
  same,     ///< no difference beyond chance
  same_here,
  too_few_samples,  ///< on either side
};

/// Name for tables: "worse", "worse here", "unclear", "too few samples".
[[nodiscard]] constexpr std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::worse:
      return "worse";
    case Verdict::better:
      return "better";
    case Verdict::differs:
      return "differs";
    case Verdict::worse_here:
      return "worse here";
    case Verdict::better_here:
      return "better here";
    case Verdict::differs_here:
      return "differs here";
    case Verdict::unclear:
      return "unclear";
    case Verdict::same:
      return "same";
    case Verdict::same_here:
      return "same here";
    case Verdict::too_few_samples:
      break;
  }
  return "too few samples";
}

/// One side of a comparison.
struct ComparedSide {
  std::uint64_t count = 0;  ///< values in the captures
  std::size_t kept = 0;     ///< values used for the statistics
  std::size_t runs = 0;     ///< runs with any values
  double median = 0;        ///< by run: the geometric mean of the runs' medians if all are positive; likewise p95
  double p95 = 0;
  std::uint32_t line = 0;
};

/// One site, span, frame stream or metric of both sides, with the verdict.
struct ComparedThing {
  ThingName name;  ///< as in the base
  ComparedSide base;
  ComparedSide changed;
  bool by_run = false;             ///< runs were compared, since both sides have at least two; otherwise samples
  std::optional<Interval> median;  ///< 95 % interval of the difference of the medians; none with too few samples
  std::optional<Interval> p95;     ///< the same for p95; none with fewer than 20 samples on a side (by run: in a run)
  std::optional<Interval> median_share;  ///< `median` as a share of the base; set where `median` is
  std::optional<Interval> p95_share;     ///< set where `p95` is
  double greater = 0.5;                  ///< how often a new value is greater than a base value
  /// Of a rank test of the samples; by run: of the moderated t-test of the quantile that differs more clearly. None
  /// with too few samples.
  std::optional<double> p_value;
  /// Corrected for the number of durations (or metrics) tested: by run, the chance of any p-value this small in
  /// comparisons of equal sides; by samples, Benjamini and Hochberg's. Decides the verdict.
  std::optional<double> adjusted_p_value;
  /// Unclear verdicts by run: about how many more runs a side would settle it in 4 of 5 cases, if the difference is as
  /// large as measured. None for over 100.
  std::optional<std::size_t> more_runs;
  Verdict verdict = Verdict::too_few_samples;

  [[nodiscard]] double median_difference() const { return changed.median - base.median; }
  [[nodiscard]] double p95_difference() const { return changed.p95 - base.p95; }
  /// True if it got slower by at least this share of the base: the verdict is worse (here), and either the median or
  /// the 95th percentile rose by that share with an interval entirely above zero.
  [[nodiscard]] KYMO_API bool regressed_by(double share) const;
  /// True if it is a duration that did not get slower by this share as far as is known, but may have: the interval of
  /// the median or of the 95th percentile reaches that share, or there is none.
  [[nodiscard]] KYMO_API bool may_have_regressed_by(double share) const;
};

/// A thing whose partner of the same name has another unit.
struct OtherUnits {
  ThingName base;
  std::string changed_unit;
};

/// A fact about the configuration of both sides.
struct ComparedFact {
  /// How strongly it affects durations.
  enum class Weight { other, build, machine };

  std::string key;
  std::vector<std::string> base;  ///< values, sorted; empty: unknown
  std::vector<std::string> changed;
  Weight weight = Weight::other;

  [[nodiscard]] bool differs() const { return base != changed; }
};

/// Result of a comparison.
struct CaptureComparison {
  /// Durations before metrics. Each by verdict in the order of the enumeration, then by the total time (metrics: the
  /// share) of the difference.
  std::vector<ComparedThing> things;
  std::vector<ThingName> only_in_base;
  std::vector<ThingName> only_in_new;
  std::vector<OtherUnits> other_units;
  std::vector<ComparedFact> facts;  ///< configuration: software and machine
};

/// Compares captures. Each path is one run: a file, or a directory with the files of its processes. `seed` starts the
/// resampling; equal seeds give equal numbers. Reading takes about 15 ns a scope, comparing about 5 ms for a thing with
/// thousands of samples. Memory does not grow with the captures. Throws CaptureError if one cannot be read.
[[nodiscard]] KYMO_API CaptureComparison compare_captures(const std::vector<std::string>& base,
                                                          const std::vector<std::string>& changed,
                                                          std::uint64_t seed = 1);

}  // namespace kymo
