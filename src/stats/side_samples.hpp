// What the captures of one side of a comparison hold of every thing that can be compared: bounded samples, run by run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::stats {

enum class ThingKind : std::uint8_t { site, span, frames, metric };

/// What two things of different captures must share to be the same.
struct ThingName {
  ThingKind kind = ThingKind::site;
  std::string name;
  std::string function;  ///< sites
  std::string file;      ///< sites: without its directory, so that builds in other places match
  std::string labels;    ///< metrics: "key=value" with blanks between
  std::string unit;      ///< metrics; counters have the unit of their rate. "ns" for all else

  friend bool operator<(const ThingName& a, const ThingName& b);
  friend bool operator==(const ThingName& a, const ThingName& b);
};

/// A thing as the runs of one side have it. One element a run that has any of it, in the order of the runs.
struct ThingSamples {
  std::vector<std::vector<double>> runs;  ///< ascending; a random choice where there are more than are kept
  std::uint64_t count = 0;                ///< how many there are in all
  std::uint32_t line = 0;                 ///< sites: where one of them stands

  /// How many were kept.
  [[nodiscard]] std::size_t kept() const;
  /// Those of all runs together, ascending.
  [[nodiscard]] std::vector<double> pooled() const;
};

/// The durations of scopes, spans and frames in nanoseconds, the values of gauges, and the rates of counters between
/// two readings. Scopes that never ended, readings that were stale and values that are not finite do not count.
///
/// Memory grows with the number of things and of runs, not with the captures: at most 8 bytes times `kept_a_run` for
/// each thing in each run.
class SideSamples {
 public:
  /// Where there is more than is kept, the choice depends on the seed, the side's number, the run and the thing's name.
  SideSamples(std::uint64_t seed, std::uint64_t side, std::size_t kept_a_run)
      : seed_(seed), side_(side), kept_a_run_(kept_a_run) {}

  /// Adds what a timeline holds as one run. About 15 ns a scope.
  void add_run(const Timeline& timeline, const std::function<void(double)>& on_progress = {});

  [[nodiscard]] std::size_t run_count() const { return run_count_; }
  [[nodiscard]] const std::map<ThingName, ThingSamples>& things() const { return things_; }

 private:
  std::uint64_t seed_;
  std::uint64_t side_;
  std::size_t kept_a_run_;
  std::size_t run_count_ = 0;
  std::map<ThingName, ThingSamples> things_;
};

}  // namespace kymo::stats
