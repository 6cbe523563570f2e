// Samples of captures: all of them where they fit, and which things they belong to.
#include "stats/compare/side_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "made_up_program.hpp"
#include "power_recording.hpp"
#include "stats/compare/comparison.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/recording_model.hpp"

namespace kymo::test {
namespace {

using stats::SideSamples;
using stats::ThingKind;

std::map<std::string, std::vector<double>> true_durations(const TrueRecording& truth) {
  std::map<std::string, std::vector<double>> durations;
  for (const TrueSpan& span : truth.spans) {
    if (!span.is_open) {
      durations[span.name].push_back(static_cast<double>(span.end_ns - span.start_ns));
    }
  }
  for (std::size_t i = 0; i + 1 < truth.frame_marks.size(); ++i) {
    durations["frames"].push_back(static_cast<double>(truth.frame_marks[i + 1] - truth.frame_marks[i]));
  }
  for (const auto& sample : truth.samples) {
    durations["load"].push_back(sample.second);
  }
  for (auto& [name, values] : durations) {
    std::sort(values.begin(), values.end());
  }
  return durations;
}

TEST(SideSamples, HoldEveryDurationFrameAndValueRunByRun) {
  const TemporaryDirectory directory;
  SideSamples side(1, 0, 1'000'000);
  std::vector<std::map<std::string, std::vector<double>>> truths;
  for (std::uint32_t run = 0; run < 2; ++run) {
    const RecordingModel model({.seed = 20 + run, .steps = 3000});
    side.add_run(Timeline(model.write_file(directory / ("run" + std::to_string(run) + ".kymo"))));
    truths.push_back(true_durations(model.truth()));
  }
  EXPECT_EQ(side.run_count(), 2U);
  ASSERT_EQ(side.things().size(), truths[0].size());
  for (const auto& [name, samples] : side.things()) {
    const std::string true_name = name.kind == ThingKind::frames ? "frames" : name.name;
    ASSERT_EQ(samples.runs.size(), 2U) << true_name;
    EXPECT_EQ(samples.runs[0], truths[0].at(true_name)) << true_name;
    EXPECT_EQ(samples.runs[1], truths[1].at(true_name)) << true_name;
    EXPECT_EQ(samples.count, samples.runs[0].size() + samples.runs[1].size());
    const std::vector<double> pooled = samples.pooled();
    EXPECT_EQ(pooled.size(), samples.count);
    EXPECT_TRUE(std::is_sorted(pooled.begin(), pooled.end()));
  }
}

/// Steps of 1 ms of CPU time, more and less by their number, and so long blocked.
stats::SideSamples steps_that_wait(const std::string& path, std::int64_t blocked_ns, bool has_states) {
  MadeUpProgram program(path, has_states);
  const TrackId track = program.thread("main");
  for (std::int64_t i = 0; i < 40; ++i) {
    program.open(track, "step");
    program.run(track, 1'000'000 + i * 1'000);
    program.block(track, blocked_ns);
    program.close(track);
    program.idle_until(track, program.now(track) + 500);
  }
  program.finish();
  SideSamples side(1, 0, 1'000);
  side.add_run(Timeline(path));
  return side;
}

TEST(SideSamples, OfScopesThatWaitLongerHaveTheSameCpuTime) {
  const TemporaryDirectory directory;
  const SideSamples base = steps_that_wait(directory / "base.kymo", 100'000, true);
  const SideSamples changed = steps_that_wait(directory / "new.kymo", 900'000, true);
  const stats::Comparison compared = stats::compare(base, changed);
  ASSERT_EQ(compared.things.size(), 2U);
  for (const stats::ComparedThing& thing : compared.things) {
    EXPECT_EQ(thing.name.name, "step");
    const bool is_cpu_time = thing.name.kind == ThingKind::cpu_time;
    EXPECT_EQ(thing.verdict, is_cpu_time ? stats::Verdict::same_here : stats::Verdict::worse_here);
    EXPECT_EQ(thing.changed.median, 1'019'000 + (is_cpu_time ? 0 : 900'000));
    EXPECT_EQ(thing.changed.count, 40U);
  }
}

TEST(SideSamples, WithoutRunStatesHaveNoCpuTimeAndTheComparisonDoesWithout) {
  const TemporaryDirectory directory;
  const SideSamples base = steps_that_wait(directory / "base.kymo", 100'000, true);
  const SideSamples changed = steps_that_wait(directory / "new.kymo", 900'000, false);
  const stats::Comparison compared = stats::compare(base, changed);
  ASSERT_EQ(compared.things.size(), 1U);
  EXPECT_EQ(compared.things.front().name.kind, ThingKind::site);
  EXPECT_TRUE(compared.only_in_base.empty()) << "the scope is on both sides";
}

TEST(SideSamples, KeepNoMoreThanTheyMay) {
  const RecordingModel model({.seed = 30, .steps = 5000});
  const TemporaryDirectory directory;
  const Timeline timeline(model.write_file(directory / "run.kymo"));
  SideSamples few(1, 0, 20);
  few.add_run(timeline);
  SideSamples again(1, 0, 20);
  again.add_run(timeline);
  const auto truth = true_durations(model.truth());
  for (const auto& [name, samples] : few.things()) {
    const auto& all = truth.at(name.kind == ThingKind::frames ? "frames" : name.name);
    EXPECT_EQ(samples.count, all.size());
    EXPECT_EQ(samples.runs[0].size(), std::min<std::size_t>(all.size(), 20));
    EXPECT_TRUE(std::includes(all.begin(), all.end(), samples.runs[0].begin(), samples.runs[0].end()));
    EXPECT_EQ(samples.runs, again.things().at(name).runs) << "the same seed chooses the same";
  }
}

TEST(SideSamples, OfSingleThreadsAreLeftOutSinceNumbersOfThreadsAreNewInEachRun) {
  MetricSeries series;
  for (std::int64_t i = 0; i < 5; ++i) {
    series.times_ns.push_back(i * second);
    series.values.push_back(static_cast<double>(i));
  }
  PowerRecording recording;
  MetricDeclaration of_thread = energy_metric("thread_minor_faults", {{"thread", "4711"}, {"pid", "4700"}});
  of_thread.source = "/proc/PID/task/TID/stat";
  recording.metric(of_thread, series);
  MetricDeclaration of_program = energy_metric("jobs", {{"thread", "worker"}});
  of_program.source.clear();
  recording.metric(of_program, series);
  SideSamples side(1, 0, 100);
  side.add_run(recording.make_timeline(3, 0));
  ASSERT_EQ(side.things().size(), 1U);
  EXPECT_EQ(side.things().begin()->first.name, "jobs");
}

TEST(SideSamples, OfCountersAreRatesBetweenFreshReadings) {
  MetricSeries series;
  // In joules: a stale reading, one that went back, one that is missing.
  const std::vector<double> values{10, 12, 12, 18, 1, 5, NAN, 9};
  for (std::size_t i = 0; i < values.size(); ++i) {
    series.times_ns.push_back(static_cast<std::int64_t>(i) * second / 2);
    series.values.push_back(values[i]);
    series.flags.push_back(i == 2 ? SampleRun::stale : std::uint8_t{0});
  }
  PowerRecording recording;
  recording.metric(energy_metric("energy", {{"package", "0"}, {"domain", "core"}}), series);
  SideSamples side(1, 0, 100);
  side.add_run(recording.make_timeline(3, 0));
  ASSERT_EQ(side.things().size(), 1U);
  const auto& [name, samples] = *side.things().begin();
  EXPECT_EQ(name.unit, "W");
  EXPECT_EQ(name.labels, "package=0 domain=core");
  EXPECT_EQ(samples.runs[0], (std::vector<double>{4, 4, 6, 8}));
}

TEST(SideSamples, OfAGpuAreComparedWithTheGpuOfThatNumberInAnotherMachine) {
  MetricSeries series;
  series.times_ns = {0, second};
  series.values = {1, 2};
  PowerRecording recording;
  recording.metric(energy_metric("energy", {{"gpu", "0"}, {"uuid", "GPU-1"}}), series);
  SideSamples side(1, 0, 100);
  side.add_run(recording.make_timeline(2, 0));
  ASSERT_EQ(side.things().size(), 1U);
  EXPECT_EQ(side.things().begin()->first.labels, "gpu=0");
}

}  // namespace
}  // namespace kymo::test
