// Comparisons of simulated programs whose differences are known. benchmarks/comparison_benchmark.cpp simulates more.
#include "stats/compare/comparison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "simulated_runs.hpp"

namespace kymo::test {
namespace {

using stats::Verdict;

/// Tallies of many comparisons; rotations enough to tell 0.04 from 0.05 on average.
SimulatedComparisons simulate(const SimulatedProgram& program, std::size_t runs, int comparisons) {
  return simulate_comparisons(program, runs, runs, comparisons, 250);
}

SimulatedProgram slower_program(double slowdown) {
  SimulatedProgram program;
  program.slow_sites = 1;
  program.slowdown = slowdown;
  return program;
}

TEST(Comparison, FindsASlowdownOfTenPercentInThreeRunsASideAtTwoPercentNoise) {
  SimulatedProgram program = slower_program(0.1);
  EXPECT_GE(simulate(program, 3, 40).found_share(), 0.8);
  // The same noise, but as much in all sites of a run.
  program.run_noise = 0.001;
  program.common_noise = 0.02;
  EXPECT_GE(simulate(program, 3, 40).found_share(), 0.8);
}

TEST(Comparison, OfEqualProgramsRaisesNoMoreThanFiveFalseAlarmsInAHundred) {
  SimulatedProgram drifting;
  drifting.common_noise = 0.03;
  SimulatedProgram heavy_tailed;
  heavy_tailed.has_heavy_tails = true;
  heavy_tailed.calls = {200, 20, 5, 1};
  SimulatedProgram uneven;
  uneven.noise_ratio = 5;
  SimulatedComparisons all;
  for (const SimulatedProgram& program : {SimulatedProgram(), drifting, heavy_tailed, uneven}) {
    for (const std::size_t runs : {2U, 3U, 10U}) {
      all.add(simulate(program, runs, 8));
    }
  }
  SimulatedProgram shakier;
  shakier.new_noise_ratio = 3;
  all.add(simulate_comparisons(shakier, 10, 2, 10, 250));
  EXPECT_LE(all.alarm_share(), 0.05);
  EXPECT_GE(all.alarm_share(), 0.005) << "a test that never says anything";
  EXPECT_GE(all.covered_share(), 0.94);
  EXPECT_LE(all.covered_share(), 0.98);
}

TEST(Comparison, NeverSaysSameOfWhatAnIntervalExcludesAndTellsHowManyRunsWouldSettleIt) {
  const SimulatedProgram program = slower_program(0.06);
  const SimulatedComparisons few = simulate(program, 3, 40);
  EXPECT_EQ(few.same_beside_interval, 0);
  EXPECT_EQ(few.unclear_beside_zero, 0);
  EXPECT_LT(few.found_share(), 0.6);
  ASSERT_GE(few.advised_runs.size(), 12U);
  // What is unclear looks larger or smaller than it is. The advice in the middle settles it in about four of five
  // cases.
  std::vector<double> advised = few.advised_runs;
  std::sort(advised.begin(), advised.end());
  const auto more = static_cast<std::size_t>(advised[advised.size() / 2]);
  const double settled = simulate(program, 3 + more, 40).found_share();
  EXPECT_GE(settled, 0.6) << more;
  EXPECT_LE(simulate(program, 3 + more / 2, 40).found_share(), settled) << more;
}

TEST(Comparison, OfOneRunASideSpeaksOfTheRecordings) {
  const SimulatedComparisons one = simulate(slower_program(0.1), 1, 10);
  EXPECT_EQ(one.alarms, 0);
  EXPECT_EQ(one.found, 0);
  EXPECT_GT(one.verdicts.at(Verdict::worse_here), 0);
  EXPECT_EQ(one.verdicts.count(Verdict::same), 0U);
}

/// The levels of a thing, run by run.
stats::SideSamples side_of(const std::vector<std::vector<double>>& runs, const std::string& name = "thing",
                           const std::string& unit = "ns") {
  stats::SideSamples side(1, 0, 1000);
  for (const std::vector<double>& run : runs) {
    const auto kind = unit == "ns" ? stats::ThingKind::site : stats::ThingKind::metric;
    side.add_run({{{kind, name, {}, {}, {}, unit}, {run, run.size(), 0}}});
  }
  return side;
}

TEST(Comparison, NeedsOneValueARun) {
  const auto found = stats::compare(side_of({{1000}, {1010}, {990}}), side_of({{2000}, {2010}, {1990}}));
  ASSERT_EQ(found.things.size(), 1U);
  EXPECT_EQ(found.things[0].verdict, Verdict::worse);
  EXPECT_NEAR(found.things[0].changed.median, 2000, 1);
  EXPECT_FALSE(found.things[0].p95);
}

TEST(Comparison, OfValuesThatNeverVaryIsCertain) {
  const std::vector<std::vector<double>> eight{{8, 8}, {8, 8}, {8, 8}};
  const std::vector<std::vector<double>> nine{{9, 9}, {9, 9}, {9, 9}};
  EXPECT_EQ(stats::compare(side_of(eight, "cores", ""), side_of(nine, "cores", "")).things[0].verdict,
            Verdict::differs);
  const auto same = stats::compare(side_of(eight, "cores", ""), side_of(eight, "cores", "")).things[0];
  EXPECT_EQ(same.verdict, Verdict::same);
  EXPECT_EQ(same.p_value, 1);
  // Durations are whole nanoseconds: 8 and 9 may be 8.4 and 8.6.
  EXPECT_GT(stats::compare(side_of(eight), side_of(nine)).things[0].median->high, 1);
}

TEST(Comparison, TakesMetricsBelowZeroAsTheyAre) {
  const auto found = stats::compare(side_of({{-10}, {-10.5}, {-9.5}, {-10}}, "warmth", "C"),
                                    side_of({{1}, {1.5}, {0.5}, {0}}, "warmth", "C"));
  EXPECT_EQ(found.things[0].verdict, Verdict::differs);
  EXPECT_DOUBLE_EQ(found.things[0].base.median, -10);
  EXPECT_DOUBLE_EQ(found.things[0].changed.median, 0.75);
  EXPECT_TRUE(found.things[0].median->contains(10.75));
}

TEST(Comparison, SaysNothingOfValuesWhoseSquaresAreNoNumbers) {
  const auto found = stats::compare(side_of({{-1e300}, {1e300}, {-1e299}}, "wild", ""),
                                    side_of({{1e300}, {-1e300}, {1e299}}, "wild", ""));
  EXPECT_EQ(found.things[0].verdict, Verdict::same);
}

TEST(Comparison, TakesRunsThatLackAThingAsFewer) {
  stats::SideSamples base(1, 0, 1000);
  stats::SideSamples changed(1, 1, 1000);
  const stats::ThingName always{stats::ThingKind::site, "always", {}, {}, {}, "ns"};
  const stats::ThingName rarely{stats::ThingKind::site, "rarely", {}, {}, {}, "ns"};
  for (int run = 0; run < 4; ++run) {
    std::map<stats::ThingName, stats::RunValues> things{{always, {{1000.0 + run}, 1, 0}}};
    if (run % 2 == 0) {
      things[rarely] = {{500.0 + run}, 1, 0};
    }
    base.add_run(things);
    if (run == 2) {
      things[rarely] = {{900.0}, 1, 0};
    }
    changed.add_run(things);
  }
  for (const stats::ComparedThing& thing : stats::compare(base, changed).things) {
    EXPECT_TRUE(thing.by_run);
    EXPECT_EQ(thing.base.runs, thing.name == rarely ? 2U : 4U);
    EXPECT_EQ(thing.verdict, Verdict::same);
  }
}

}  // namespace
}  // namespace kymo::test
