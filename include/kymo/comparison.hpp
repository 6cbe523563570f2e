// Two captures, or two sets of them, compared thing by thing: by how much they differ, and whether that is more than
// chance. docs/comparing.md tells what is tested and how.
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

enum class ThingKind : std::uint8_t { site, span, frames, metric };

/// How tables call it: "scope", "span", "frames", "metric".
[[nodiscard]] constexpr std::string_view name_of(ThingKind kind) noexcept {
  switch (kind) {
    case ThingKind::site:
      return "scope";
    case ThingKind::span:
      return "span";
    case ThingKind::frames:
      return "frames";
    case ThingKind::metric:
      break;
  }
  return "metric";
}

/// What two things of different captures must share to be the same.
struct ThingName {
  ThingKind kind = ThingKind::site;
  std::string name;
  std::string function;  ///< sites
  std::string file;      ///< sites: without its directory, so that builds in other places match
  std::string labels;    ///< metrics: "key=value" with blanks between
  std::string unit;      ///< metrics; counters have the unit of their rate. "ns" for all else

  friend bool operator<(const ThingName& a, const ThingName& b) {
    return std::tie(a.kind, a.name, a.function, a.file, a.labels, a.unit) <
           std::tie(b.kind, b.name, b.function, b.file, b.labels, b.unit);
  }
  friend bool operator==(const ThingName& a, const ThingName& b) { return !(a < b) && !(b < a); }
};

struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
};

enum class Verdict : std::uint8_t {
  worse,            ///< durations: takes longer
  better,           ///< durations: takes less
  differs,          ///< metrics of which nobody says whether more is better
  same,             ///< no difference that chance would not make as well
  too_few_samples,  ///< on a side
};

/// How tables call it: "worse", "better", "differs", "same", "too few samples".
[[nodiscard]] constexpr std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::worse:
      return "worse";
    case Verdict::better:
      return "better";
    case Verdict::differs:
      return "differs";
    case Verdict::same:
      return "same";
    case Verdict::too_few_samples:
      break;
  }
  return "too few samples";
}

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
  bool by_run = false;                   ///< runs were resampled and compared, since both sides have enough of them
  std::optional<Interval> median;        ///< of the difference of the medians, 95 %; none with too few samples
  std::optional<Interval> p95;           ///< the same; none with fewer than 20 samples on a side
  std::optional<Interval> median_share;  ///< of the difference as a share of the base; where `median` is
  std::optional<Interval> p95_share;     ///< where `p95` is
  double greater = 0.5;                  ///< how often a new value is greater than one of the base
  std::optional<double> rank_test;       ///< p-values; none with too few samples
  std::optional<double> run_test;        ///< by run only
  std::optional<double> p_value;         ///< what the verdict goes by: the greater one of both
  std::optional<double> q_value;         ///< p_value corrected for how many things of its kind were tested
  Verdict verdict = Verdict::too_few_samples;

  [[nodiscard]] double median_difference() const { return changed.median - base.median; }
  [[nodiscard]] double p95_difference() const { return changed.p95 - base.p95; }
  /// Whether it got slower by at least this share of the base: its verdict is worse, and its median did, or its 95th
  /// percentile did with an interval that is all above zero.
  [[nodiscard]] KYMO_API bool regressed_by(double share) const;
};

/// What has a partner of the same name whose numbers mean something else.
struct OtherUnits {
  ThingName base;
  std::string changed_unit;
};

/// A fact of two configurations.
struct ComparedFact {
  /// How much it bears on durations.
  enum class Weight { other, build, machine };

  std::string key;
  std::vector<std::string> base;  ///< by value; empty where it is not known
  std::vector<std::string> changed;
  Weight weight = Weight::other;

  [[nodiscard]] bool differs() const { return base != changed; }
};

/// What a comparison found.
struct CaptureComparison {
  /// Worse first, then better, differs, same, too few; within each by how much time (metrics: share) it makes.
  std::vector<ComparedThing> things;
  std::vector<ThingName> only_in_base;
  std::vector<ThingName> only_in_new;
  std::vector<OtherUnits> other_units;
  std::vector<ComparedFact> facts;  ///< what was run, on what
};

/// Compares captures; each path is a run, a file or a directory of processes' files. `seed` is what resampling begins
/// with: the same gives the same numbers. Reading takes about 15 ns a scope, comparing about 5 ms a thing with
/// thousands of samples; memory does not grow with the captures. CaptureError where one cannot be read.
[[nodiscard]] KYMO_API CaptureComparison compare_captures(const std::vector<std::string>& base,
                                                          const std::vector<std::string>& changed,
                                                          std::uint64_t seed = 1);

}  // namespace kymo
