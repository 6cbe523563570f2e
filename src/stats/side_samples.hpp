// What the captures of one side of a comparison hold of every thing that can be compared: bounded samples, run by run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <kymo/comparison.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

using kymo::ThingKind;
using kymo::ThingName;

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

/// How many samples a thing keeps of each of so many runs: together some 16,000, so that a side takes no more memory
/// for having many runs.
[[nodiscard]] inline std::size_t kept_of_each(std::size_t runs) {
  constexpr std::size_t kept_a_side = 16'384;
  constexpr std::size_t least_a_run = 2'048;
  return runs == 0 || kept_a_side / runs < least_a_run ? least_a_run : kept_a_side / runs;
}

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
