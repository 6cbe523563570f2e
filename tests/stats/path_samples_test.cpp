// Stacks in stretches of a thread's time, beside a count sample by sample.
#include "stats/paths/path_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "capture/write/capture_writer.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::stats {
namespace {

constexpr std::int64_t length_ns = 1'000'000;
constexpr TrackId sampled_track{1};
constexpr TrackId other_track{2};

/// Two threads with scopes, the first of which is sampled; some samples say that they waited.
std::vector<StackSample> write_samples(const std::string& path, std::mt19937& random) {
  capture::CaptureWriterOptions options;
  options.declarations.processes.push_back({ProcessId{1}, 50, "here", "boot", "", "program"});
  options.declarations.threads.push_back({ThreadId{1}, ProcessId{1}, 50, 100, "main"});
  for (const auto& [track, thread] : {std::pair(sampled_track, 100U), std::pair(other_track, 101U)}) {
    TrackDeclaration declared;
    declared.id = track;
    declared.process = ProcessId{1};
    declared.os_thread_id = thread;
    options.declarations.tracks.push_back(declared);
  }
  options.declarations.functions.push_back({FunctionId{1}, ModuleId{}, 0, "f"});
  for (std::uint32_t id = 1; id <= 9; ++id) {
    options.declarations.stacks.push_back({StackId{id}, StackId{id - 1}, FunctionId{1}});
  }
  capture::CaptureWriter writer(path, std::move(options));
  EventBatch batch;
  batch.end_ns = length_ns;
  std::int64_t now_ns = 0;
  while (true) {
    now_ns += 1 + static_cast<std::int64_t>(random() % 500);
    const std::int64_t waited_ns = random() % 3 == 0 ? 1 + static_cast<std::int64_t>(random() % 900) : 0;
    now_ns += waited_ns;
    if (now_ns >= length_ns) {
      break;
    }
    const StackId stack{static_cast<std::uint32_t>(random() % 10)};
    batch.stack_samples.push_back({ThreadId{1}, stack, 0, now_ns, waited_ns});
    if (waited_ns != 0) {
      // As many again whose stacks were not taken.
      batch.stack_samples.push_back({ThreadId{1}, stack, 0, now_ns, 0, waited_ns, 1});
    }
  }
  writer.write(batch);
  writer.finish();
  return batch.stack_samples;
}

TEST(PathSamples, AreThoseOfACountSampleBySample) {
  std::mt19937 random(3);
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  const std::vector<StackSample> all = write_samples(path, random);
  const Timeline timeline(path);
  PathSamples samples(timeline, {{0, 400'000}, {500'000, length_ns}});
  ASSERT_FALSE(samples.empty());
  std::int64_t start_ns = 0;
  for (int i = 0; i < 3'000; ++i) {
    // Mostly one after the other, as on a path.
    const bool goes_on = start_ns < 390'000 && random() % 10 != 0;
    start_ns = goes_on ? start_ns : static_cast<std::int64_t>(random() % 390'000) + (random() % 2 == 0 ? 500'000 : 0);
    const TimeRange range{start_ns, start_ns + static_cast<std::int64_t>(random() % 2'000)};
    start_ns = range.end_ns;
    std::map<std::uint32_t, int> expected;
    std::map<std::uint32_t, double> expected_waits;
    for (const StackSample& sample : all) {
      const std::int64_t waited_ns =
          std::min(sample.time_ns, range.end_ns) - std::max(sample.time_ns - sample.blocked_ns, range.start_ns);
      if (sample.unsampled_ns != 0) {
        continue;
      }
      if (sample.is_wait() && waited_ns > 0) {
        expected_waits[sample.stack.value()] += 2 * static_cast<double>(waited_ns);
      } else if (!sample.is_wait() && sample.time_ns >= range.start_ns && sample.time_ns < range.end_ns) {
        ++expected[sample.stack.value()];
      }
    }
    std::map<std::uint32_t, int> found;
    std::map<std::uint32_t, double> found_waits;
    samples.visit_samples({sampled_track, {}}, range, [&](std::uint32_t stack) { ++found[stack]; });
    samples.visit_waits({sampled_track, {}}, range,
                        [&](std::uint32_t stack, double waited_ns) { found_waits[stack] += waited_ns; });
    ASSERT_EQ(found, expected) << range.start_ns;
    ASSERT_EQ(found_waits, expected_waits) << range.start_ns;
    samples.visit_samples({other_track, {}}, range, [&](std::uint32_t) { FAIL() << "nothing sampled this thread"; });
  }
}

TEST(PathSamples, OutsideOfTheIntervalsNothingIsKept) {
  std::mt19937 random(4);
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  (void)write_samples(path, random);
  const Timeline timeline(path);
  EXPECT_TRUE(PathSamples(timeline, {}).empty());
  EXPECT_TRUE(PathSamples(timeline, {{2 * length_ns, 3 * length_ns}}).empty());
}

}  // namespace
}  // namespace kymo::stats
