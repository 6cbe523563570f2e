// The comparable things of one side's captures: bounded samples, run by run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <kymo/comparison.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

using kymo::ThingKind;
using kymo::ThingName;

/// The values of a thing in one run.
struct RunValues {
  std::vector<double> kept;  ///< in any order; a random sample if there are more than are kept
  std::uint64_t count = 0;   ///< number of values in all
  std::uint32_t line = 0;    ///< sites
};

/// A thing in the runs of one side. One element per run that has any of it, in the order of the runs.
struct ThingSamples {
  std::vector<std::vector<double>> runs;  ///< ascending; a random sample if there are more than are kept
  std::vector<std::size_t> run_numbers;   ///< which runs of the side these are, from 0
  std::uint64_t count = 0;                ///< number of values in all
  std::uint32_t line = 0;                 ///< sites: line of one of them

  /// The number of values kept.
  [[nodiscard]] std::size_t kept() const;
  /// The values of all runs together, ascending.
  [[nodiscard]] std::vector<double> pooled() const;
};

/// Samples kept per thing and run, for this many runs: some 16,000 in total, so that a side with many runs takes no
/// more memory.
[[nodiscard]] inline std::size_t kept_of_each(std::size_t runs) {
  constexpr std::size_t kept_a_side = 16'384;
  constexpr std::size_t least_a_run = 2'048;
  return runs == 0 || kept_a_side / runs < least_a_run ? least_a_run : kept_a_side / runs;
}

/// Collects durations of scopes, spans and frames in nanoseconds, CPU times of scopes whose run states are known
/// throughout, values of gauges, and rates of counters between two readings. Scopes that never ended, stale readings
/// and non-finite values do not count.
///
/// Memory grows with the number of things and runs, not with the captures: at most 8 bytes times `kept_a_run` per thing
/// and run.
class SideSamples {
 public:
  /// Above the limit, the sample depends on the seed, the side's number, the run and the thing's name.
  SideSamples(std::uint64_t seed, std::uint64_t side, std::size_t kept_a_run)
      : seed_(seed), side_(side), kept_a_run_(kept_a_run) {}

  /// Adds a timeline as one run. About 15 ns a scope.
  void add_run(const Timeline& timeline, const std::function<void(double)>& on_progress = {});
  /// Adds values as one run. Things without values do not count.
  void add_run(std::map<ThingName, RunValues> things);

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
