// Runs of a made-up program whose differences are known, for tests and benchmarks of comparisons.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "stats/compare/comparison.hpp"

namespace kymo::test {

/// What the runs of a simulated program are like. Deviations are shares: 0.02 is 2 %.
struct SimulatedProgram {
  std::size_t sites = 10;
  std::size_t slow_sites = 0;     ///< the first of the sites; slower in the new side
  double slowdown = 0;            ///< of the slow sites
  double run_noise = 0.02;        ///< standard deviation of a site's level from run to run
  double common_noise = 0;        ///< the same of the whole run: a slow run slows all sites
  double noise_ratio = 1;         ///< every second site's run noise is greater by this factor
  double new_noise_ratio = 1;     ///< the same for all sites of the new side
  bool has_heavy_tails = false;   ///< run noise follows Student's t with 3 degrees of freedom; durations a log-normal
                                  ///< distribution with an outlier in fifty
  std::vector<int> calls = {50};  ///< in a run: of the first site, the second, and so on, from the first again
  double call_noise = 0.05;       ///< from call to call
};

/// Draws runs of a simulated program.
class RunSimulation {
 public:
  RunSimulation(const SimulatedProgram& program, std::uint64_t seed) : program_(program), random_(seed) {}

  /// One side of a comparison.
  stats::SideSamples side(std::size_t runs, bool is_new) {
    stats::SideSamples side(1, is_new ? 1 : 0, 16'384);
    for (std::size_t run = 0; run < runs; ++run) {
      side.add_run(draw_run(is_new));
    }
    return side;
  }

  /// The site's change from base to new as a share.
  [[nodiscard]] double true_change(const stats::ThingName& thing) const {
    for (std::size_t site = 0; site < program_.slow_sites; ++site) {
      if (thing.name == name_of(site)) {
        return program_.slowdown;
      }
    }
    return 0;
  }

 private:
  static std::string name_of(std::size_t site) { return "site " + std::to_string(site); }

  std::map<stats::ThingName, stats::RunValues> draw_run(bool is_new) {
    const double of_run = program_.common_noise * deviation();
    std::map<stats::ThingName, stats::RunValues> things;
    for (std::size_t site = 0; site < program_.sites; ++site) {
      const double noise =
          program_.run_noise * (site % 2 == 1 ? program_.noise_ratio : 1) * (is_new ? program_.new_noise_ratio : 1);
      const double level = 1e5 * std::exp(of_run + noise * deviation()) *
                           (is_new && site < program_.slow_sites ? 1 + program_.slowdown : 1);
      stats::RunValues& values = things[{stats::ThingKind::site, name_of(site), {}, {}, {}, "ns"}];
      const int calls = program_.calls[site % program_.calls.size()];
      for (int call = 0; call < calls; ++call) {
        values.kept.push_back(std::round(level * duration()));
      }
      values.count = values.kept.size();
    }
    return things;
  }

  /// With a standard deviation of 1.
  double deviation() {
    return program_.has_heavy_tails ? std::student_t_distribution<double>(3)(random_) / std::sqrt(3.0)
                                    : std::normal_distribution<double>()(random_);
  }

  double duration() {
    const double usual = std::exp(program_.call_noise * std::normal_distribution<double>()(random_));
    return program_.has_heavy_tails && random_() % 50 == 0 ? 20 * usual : usual;
  }

  SimulatedProgram program_;
  std::mt19937_64 random_;
};

/// What became of many comparisons.
struct SimulatedComparisons {
  int comparisons = 0;
  int alarms = 0;  ///< comparisons with a verdict across runs on a site that did not change
  int slow = 0;    ///< slow sites in all
  int found = 0;   ///< of those, worse
  int intervals = 0;
  int covered = 0;               ///< of those, held the truth
  int same_beside_interval = 0;  ///< verdicts "same" beside an interval without zero
  int unclear_beside_zero = 0;   ///< verdicts "unclear" where every interval has zero
  std::map<stats::Verdict, int> verdicts;
  std::vector<double> advised_runs;  ///< how many more were advised for slow sites that were unclear

  [[nodiscard]] double found_share() const { return static_cast<double>(found) / std::max(slow, 1); }
  [[nodiscard]] double alarm_share() const { return static_cast<double>(alarms) / std::max(comparisons, 1); }
  /// The share of all verdicts that say that recordings differ.
  [[nodiscard]] double here_share() const {
    int here = 0;
    int all = 0;
    for (const auto& [verdict, times] : verdicts) {
      here += verdict == stats::Verdict::worse_here || verdict == stats::Verdict::better_here ? times : 0;
      all += times;
    }
    return static_cast<double>(here) / std::max(all, 1);
  }
  [[nodiscard]] double covered_share() const { return static_cast<double>(covered) / std::max(intervals, 1); }

  void add(const stats::ComparedThing& thing, double true_change) {
    const bool has_p95 = thing.p95_share.has_value();
    ++intervals;
    covered += thing.median_share->contains(true_change) ? 1 : 0;
    if (has_p95) {
      ++intervals;
      covered += thing.p95_share->contains(true_change) ? 1 : 0;
    }
    ++verdicts[thing.verdict];
    const bool has_zero = thing.median->contains(0) && (!has_p95 || thing.p95->contains(0));
    same_beside_interval += thing.verdict == stats::Verdict::same && !has_zero ? 1 : 0;
    unclear_beside_zero += thing.verdict == stats::Verdict::unclear && has_zero ? 1 : 0;
    if (true_change > 0) {
      ++slow;
      found += thing.verdict == stats::Verdict::worse ? 1 : 0;
      if (thing.more_runs) {
        advised_runs.push_back(static_cast<double>(*thing.more_runs));
      }
    }
  }

  void add(const SimulatedComparisons& other) {
    comparisons += other.comparisons;
    alarms += other.alarms;
    slow += other.slow;
    found += other.found;
    intervals += other.intervals;
    covered += other.covered;
  }
};

/// Compares two sides of new runs again and again. The same arguments give the same result with the same C++ library.
inline SimulatedComparisons simulate_comparisons(const SimulatedProgram& program, std::size_t base_runs,
                                                 std::size_t new_runs, int comparisons, std::size_t rotations) {
  SimulatedComparisons all;
  const auto noise = static_cast<std::uint64_t>(std::lround(1e4 * (program.run_noise + program.common_noise)));
  RunSimulation simulation(program, (noise * 100 + base_runs) * 100 + new_runs);
  for (int i = 0; i < comparisons; ++i) {
    const stats::SideSamples base = simulation.side(base_runs, false);
    const stats::SideSamples changed = simulation.side(new_runs, true);
    stats::ComparisonOptions options;
    options.seed = static_cast<std::uint64_t>(i);
    options.rotations = rotations;
    options.resamples = 1000;
    bool has_alarm = false;
    for (const stats::ComparedThing& thing : stats::compare(base, changed, options).things) {
      const double true_change = simulation.true_change(thing.name);
      all.add(thing, true_change);
      has_alarm = has_alarm || (true_change == 0 && thing.verdict <= stats::Verdict::differs);
    }
    all.alarms += has_alarm ? 1 : 0;
    ++all.comparisons;
  }
  return all;
}

}  // namespace kymo::test
