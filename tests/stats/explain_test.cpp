// Explanations of made-up programs whose causes are known.
#include <kymo/explain.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "capture/write/capture_writer.hpp"
#include "stats/explained_programs.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

class ExplainProgram : public ::testing::TestWithParam<ExplainedProgram> {};

TEST_P(ExplainProgram, TheInjectedCauseComesFirstWithItsShare) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const ExplainedRun run = explain_program(GetParam(), true, seed);
    EXPECT_TRUE(run.is_cause_first) << "seed " << seed << ": " << run.first;
    EXPECT_NEAR(run.found_share, run.true_share, 0.1) << "seed " << seed << ": " << run.first;
  }
}

TEST_P(ExplainProgram, NothingStandsOutWithoutTheCause) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const ExplainedRun run = explain_program(GetParam(), false, seed);
    EXPECT_EQ(run.findings, 0U) << "seed " << seed << ": " << run.first;
  }
}

const ExplainedProgram& program_named(const std::string& name) {
  const auto& all = explained_programs();
  return *std::find_if(all.begin(), all.end(), [&name](const ExplainedProgram& one) { return one.name == name; });
}

TEST(ExplainCompanions, AreTheMetricsThatMoveWithTheCauseAndNoOthers) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(explain_program(program_named("page faults"), true, seed).companions,
              std::vector<std::string>{"page_faults"})
        << "seed " << seed;
    EXPECT_EQ(explain_program(program_named("cold files"), true, seed).companions, std::vector<std::string>{"io_ms"})
        << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExplainProgram, ::testing::ValuesIn(explained_programs()), [](const auto& tested) {
  std::string name = tested.param.name;
  const auto is_mark = [](char c) { return c == ' ' || c == '\'' || c == ','; };
  name.erase(std::remove_if(name.begin(), name.end(), is_mark), name.end());
  return name;
});

/// Seven frames of each ten are usual; times of everything else in the batch are extremes.
TEST(ExplainHostile, TimesAtTheEndsOfTheirTypeHarmNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t earliest = std::numeric_limits<std::int64_t>::min();
  EventBatch batch;
  batch.start_ns = earliest;
  batch.end_ns = latest;
  Declarations& declared = batch.declarations;
  declared.processes.push_back({ProcessId{1}, 1, "host", "boot", "", "program"});
  declared.frame_streams.push_back({FrameStreamId{1}, ProcessId{1}, ""});
  declared.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 1, "main", TrackRole::plain},
                     {TrackId{2}, TrackKind::queue, ProcessId{1}, 0, "queue", TrackRole::plain},
                     {TrackId{3}, TrackKind::async, ProcessId{1}, 0, "lock", TrackRole::lock}};
  declared.names.push_back({NameId{1}, "anything"});
  declared.metrics.push_back({MetricId{1}, MetricKind::counter, ProcessId{1}, "metric", "", "", {}, 0, 0, 0, 0});
  declared.threads.push_back({ThreadId{1}, ProcessId{1}, 1, 1, "main"});
  declared.functions.push_back({FunctionId{1}, ModuleId{}, 0, "anything"});
  declared.stacks.push_back({StackId{1}, StackId{1}, FunctionId{1}});  // its own caller
  SampleRun samples;
  samples.metric = MetricId{1};
  const auto mark = [&](std::int64_t time_ns) {
    batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, time_ns});
    batch.flows.push_back({TrackId{1}, FlowPhase::end, time_ns, 1});
    for (const std::int64_t blocked_ns : {std::int64_t{0}, std::int64_t{5}, earliest, latest}) {
      batch.stack_samples.push_back({ThreadId{1}, StackId{1}, 0, time_ns, blocked_ns});
    }
    batch.flows.push_back({TrackId{2}, FlowPhase::begin, time_ns, 1});
    samples.times_ns.push_back(time_ns);
    samples.values.push_back(static_cast<double>(time_ns));
  };
  mark(earliest);
  for (std::int64_t frame = 0; frame < 100; ++frame) {
    mark(frame * 1'000'000 + (frame > 90 ? (frame - 90) * 9'000'000 : 0));
  }
  mark(latest);
  for (const TrackId track : {TrackId{2}, TrackId{3}}) {
    for (const std::int64_t start_ns : {earliest, std::int64_t{0}, latest}) {
      for (const std::int64_t duration_ns : {earliest, std::int64_t{5}, latest}) {
        SpanEvent span;
        span.track = track;
        span.name = NameId{1};
        span.start_ns = start_ns;
        span.duration_ns = duration_ns;
        batch.spans.push_back(span);
      }
    }
  }
  batch.samples.push_back(std::move(samples));
  capture::CaptureWriter writer(path, capture::CaptureWriterOptions());
  writer.write(batch);
  writer.finish();
  const Timeline timeline(path);
  const Explanation why = explain(timeline, {}).front();
  EXPECT_EQ(why.instances, 99U);
  EXPECT_EQ(why.slow, 9U);
  for (const Finding& finding : why.findings) {
    EXPECT_LE(std::abs(finding.excess_ns), 1e9) << finding.text;
  }
}

}  // namespace
}  // namespace kymo::test
