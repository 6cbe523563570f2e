// Parts of a timeline: what fits a pattern, and statistics of frames, phases, threads and stretches of time.
#include "stats/common/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "power_recording.hpp"
#include "stats/statistics/statistics.hpp"
#include "stats/statistics/stretches.hpp"
#include "stats/statistics/thread_statistics.hpp"
#include "support/open_memory.hpp"
#include "support/rounds.hpp"
#include "timeline/recording_model.hpp"

namespace kymo::test {
namespace {

using stats::FrameRange;
using stats::Selection;
using stats::SelectionOptions;

/// Four frames of 100 ns from 100 on, phases from 150 and 350 on, two threads.
PowerRecording make_recording() {
  PowerRecording recording;
  recording.open(50, TrackId{1}, "loop");
  for (std::int64_t i = 1; i <= 4; ++i) {
    recording.frame_mark(100 * i);
    recording.scope(100 * i + 10, 100 * i + 20 + 10 * i, TrackId{1}, "step");
  }
  recording.frame_mark(500);
  recording.close(600, TrackId{1});
  recording.scope(90, 260, TrackId{2}, "work");
  recording.open(280, TrackId{2}, "work");
  recording.sync_point(150);
  recording.sync_point(350);
  recording.gpu_span(180, 320, "kernel");
  return recording;
}

struct Sum {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t self_ns = 0;

  friend bool operator==(const Sum& a, const Sum& b) {
    return a.count == b.count && a.total_ns == b.total_ns && a.self_ns == b.self_ns;
  }
};

std::ostream& operator<<(std::ostream& out, const Sum& sum) {
  return out << sum.count << " x, total " << sum.total_ns << ", self " << sum.self_ns;
}

std::map<std::string, Sum> sums_of(const Timeline& timeline, const SelectionOptions& chosen) {
  stats::StatisticsOptions options;
  options.selection = Selection(timeline, chosen);
  std::map<std::string, Sum> sums;
  const stats::Statistics statistics = stats::gather_statistics(timeline, options);
  for (const stats::SiteStatistics& site : statistics.sites) {
    EXPECT_EQ(site.self_is_bound, 0U);
    EXPECT_EQ(site.unbalanced, 0U);
    sums[timeline.site(site.site).name] = {site.durations.count, site.durations.total_ns, site.self_ns};
  }
  for (const stats::SpanStatistics& span : statistics.spans) {
    sums[std::string(timeline.name(span.name))] = {span.durations.count, span.durations.total_ns,
                                                   span.durations.total_ns};
  }
  if (!statistics.frame_streams.empty()) {
    sums["frames"] = {statistics.frame_streams[0].durations.count, statistics.frame_streams[0].durations.total_ns, 0};
  }
  return sums;
}

TEST(Selection, PatternsHaveStarsAndQuestionMarks) {
  for (const auto& [pattern, text] : std::map<std::string, std::string>{{"step", "step"},
                                                                        {"st*", "step"},
                                                                        {"*", ""},
                                                                        {"*::draw*", "a::b::drawAll"},
                                                                        {"s?ep", "step"},
                                                                        {"*a*b", "aab"},
                                                                        {"", ""}}) {
    EXPECT_TRUE(stats::fits_pattern(pattern, text)) << pattern;
  }
  for (const auto& [pattern, text] : std::map<std::string, std::string>{
           {"step", "steps"}, {"?", ""}, {"st*x", "step"}, {"", "a"}, {"Step", "step"}, {"*a?", "bba"}}) {
    EXPECT_FALSE(stats::fits_pattern(pattern, text)) << pattern;
  }
}

TEST(Selection, FramesCutWhatReachesBeyondThem) {
  const PowerRecording recording = make_recording();
  for (const unsigned blocks : {1U, 3U, 9U}) {
    const Timeline timeline = recording.make_timeline(blocks, blocks);
    SelectionOptions chosen;
    chosen.frames = FrameRange{2, 3};  // from 200 to 400
    const std::map<std::string, Sum> expected{{"loop", {1, 200, 130}},
                                              {"step", {2, 70, 70}},
                                              {"work", {2, 180, 180}},
                                              {"kernel", {1, 120, 120}},
                                              {"frames", {2, 200, 0}}};
    EXPECT_EQ(sums_of(timeline, chosen), expected) << blocks;
  }
}

TEST(Selection, APhaseReachesToTheNextAndTheLastOneToTheEnd) {
  const PowerRecording recording = make_recording();
  const Timeline timeline = recording.make_timeline(4);
  SelectionOptions chosen;
  chosen.phase = 1;  // from 150 to 350
  const std::map<std::string, Sum> first{{"loop", {1, 200, 130}},
                                         {"step", {2, 70, 70}},
                                         {"work", {2, 180, 180}},
                                         {"kernel", {1, 140, 140}},
                                         {"frames", {1, 100, 0}}};
  EXPECT_EQ(sums_of(timeline, chosen), first);
  chosen.phase = 2;  // to 600
  const std::map<std::string, Sum> second{
      {"loop", {1, 250, 200}}, {"step", {1, 50, 50}}, {"work", {1, 250, 250}}, {"frames", {1, 100, 0}}};
  EXPECT_EQ(sums_of(timeline, chosen), second);
  chosen.frames = FrameRange{4, 4};  // the end of frame 4 is 500
  const std::map<std::string, Sum> both{
      {"loop", {1, 100, 50}}, {"step", {1, 50, 50}}, {"work", {1, 100, 100}}, {"frames", {1, 100, 0}}};
  EXPECT_EQ(sums_of(timeline, chosen), both);
}

TEST(Selection, ThreadsAndSitesNarrowWithoutCutting) {
  const PowerRecording recording = make_recording();
  const Timeline timeline = recording.make_timeline(2);
  SelectionOptions chosen;
  chosen.threads = {"gpu"};
  EXPECT_EQ(sums_of(timeline, chosen),
            (std::map<std::string, Sum>{{"kernel", {1, 140, 140}}, {"frames", {4, 400, 0}}}));
  chosen.threads.clear();
  chosen.sites = {"st*", "none"};
  EXPECT_THROW(Selection(timeline, chosen), stats::SelectionError);
  chosen.sites = {"st*"};
  EXPECT_EQ(sums_of(timeline, chosen), (std::map<std::string, Sum>{{"step", {4, 140, 140}}, {"frames", {4, 400, 0}}}));
}

TEST(Selection, ATimeHasItsPartsOfAllScopesThoughOneThreadIsWrittenAfterAnother) {
  std::mt19937_64 random(9);
  for (std::uint32_t seed = 51; seed <= 58; ++seed) {
    const RecordingModel model({.seed = seed, .steps = 3000, .lags = true});
    const auto bytes = model.write(seed % 2 == 0);
    const Timeline timeline = open_memory(bytes);
    const auto length = static_cast<std::uint64_t>(model.truth().end_ns - model.truth().start_ns);
    for (unsigned i = 0; i < rounds(40U); ++i) {
      SelectionOptions chosen;
      chosen.time.start_ns = model.truth().start_ns + static_cast<std::int64_t>(random() % length);
      chosen.time.end_ns = chosen.time.start_ns + 1 + static_cast<std::int64_t>(random() % (length / (1 + i % 30)));
      std::map<std::string, std::uint64_t> expected;
      for (const TrueSpan& span : model.truth().spans) {
        const std::int64_t inside_ns =
            std::min(span.end_ns, chosen.time.end_ns) - std::max(span.start_ns, chosen.time.start_ns);
        if (span.name.find("site") == 0 && inside_ns > 0) {
          expected[span.name] += static_cast<std::uint64_t>(inside_ns);
        }
      }
      stats::StatisticsOptions options;
      options.selection = Selection(timeline, chosen);
      std::map<std::string, std::uint64_t> found;
      for (const stats::SiteStatistics& site : stats::gather_statistics(timeline, options).sites) {
        if (site.durations.total_ns != 0) {
          found[timeline.site(site.site).name] = site.durations.total_ns;
        }
      }
      std::map<std::string, std::uint64_t> of_threads;
      for (const stats::ThreadSiteStatistics& row : stats::gather_thread_statistics(timeline, options.selection)) {
        if (row.scopes.durations.total_ns != 0) {
          of_threads[timeline.site(row.scopes.site).name] += row.scopes.durations.total_ns;
        }
      }
      ASSERT_EQ(found, expected) << seed << ": " << chosen.time.start_ns << ".." << chosen.time.end_ns;
      ASSERT_EQ(of_threads, expected) << seed << ": " << chosen.time.start_ns << ".." << chosen.time.end_ns;
    }
  }
}

TEST(Selection, ATimeOfACaptureWithoutABacklogTakesOnlyItsOwnBlocks) {
  PowerRecording recording;
  for (std::int64_t i = 0; i < 100; ++i) {
    recording.scope(100 * i, 100 * i + 50, TrackId{1}, "step");
  }
  const Timeline timeline = recording.make_timeline(20);
  SelectionOptions chosen;
  chosen.time = {4'010, 4'990};
  stats::StatisticsOptions options;
  options.selection = Selection(timeline, chosen);
  EXPECT_LE(stats::gather_statistics(timeline, options).blocks_decoded, 4U);
}

TEST(Selection, WhatIsNotThereIsSaid) {
  const PowerRecording recording = make_recording();
  const Timeline timeline = recording.make_timeline();
  const auto message_of = [&](const SelectionOptions& chosen) -> std::string {
    try {
      static_cast<void>(Selection(timeline, chosen));
    } catch (const stats::SelectionError& error) {
      return error.what();
    }
    return "none";
  };
  SelectionOptions chosen;
  chosen.sites = {"lop"};
  EXPECT_NE(message_of(chosen).find("loop, step, work"), std::string::npos) << message_of(chosen);
  chosen.sites.clear();
  chosen.threads = {"nobody"};
  EXPECT_NE(message_of(chosen).find("thread, gpu"), std::string::npos) << message_of(chosen);
  chosen.threads.clear();
  chosen.frames = FrameRange{5, 9};
  EXPECT_NE(message_of(chosen).find("it has 4 frames"), std::string::npos) << message_of(chosen);
  chosen.frames.reset();
  chosen.phase = 3;
  EXPECT_NE(message_of(chosen).find("there are: 1, 2"), std::string::npos) << message_of(chosen);
}

TEST(SlowestFrames, OfManyAreThoseThatSortingAllGives) {
  std::mt19937_64 random(5);
  PowerRecording recording;
  std::int64_t time_ns = 100;
  std::vector<std::pair<std::int64_t, std::uint64_t>> expected;  // less the duration, so that the longest comes first
  recording.frame_mark(time_ns);
  for (FrameNumber number = 1; number <= 300; ++number) {
    const auto duration_ns = static_cast<std::int64_t>(1 + random() % 200);
    recording.frame_mark(time_ns += duration_ns);
    expected.emplace_back(-duration_ns, number);
  }
  const Timeline timeline = recording.make_timeline(1);
  std::sort(expected.begin(), expected.end());
  for (const std::size_t count : {std::size_t{1}, std::size_t{40}, std::size_t{500}}) {
    const stats::SlowFrames slow = stats::find_slowest_frames(timeline, count);
    EXPECT_EQ(slow.frames_in_all, expected.size());
    EXPECT_EQ(slow.median_ns, -expected[150].first);
    ASSERT_EQ(slow.frames.size(), std::min(count, expected.size()));
    for (std::size_t i = 0; i < slow.frames.size(); ++i) {
      EXPECT_EQ(slow.frames[i].frame.duration_ns, -expected[i].first) << i;
      EXPECT_EQ(slow.frames[i].number, expected[i].second) << i;
    }
  }
}

}  // namespace
}  // namespace kymo::test
