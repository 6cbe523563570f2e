// What is told of a capture that lacks events: no frame and no phase is made of what is on both sides of a hole.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <kymo/frame_stats.hpp>
#include <kymo/statistics.hpp>

#include "capture/merge/merge.hpp"
#include "stats/compare/side_samples.hpp"
#include "stats/paths/instances.hpp"
#include "stats/statistics/call_tree.hpp"
#include "stats/statistics/statistics.hpp"
#include "support/flight_recording.hpp"
#include "support/open_memory.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

using Flight = FlightRecording;

void write_file(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::int64_t> starts_of(const std::vector<Frame>& frames) {
  std::vector<std::int64_t> starts;
  for (const Frame& frame : frames) {
    EXPECT_EQ(frame.duration_ns, Flight::frame_ns) << frame.start_ns;
    starts.push_back(frame.start_ns);
  }
  return starts;
}

// On a disk that stays full, nothing else has room for it.
TEST(LostEvents, WhatTheClosingWordsAloneStateIsTold) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run.kymo";
  const std::string merged = directory / "merged.kymo";
  {
    const auto bytes = std::make_shared<std::vector<std::byte>>();
    capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), Flight::options(nullptr));
    writer.write(Flight::batch(0));
    writer.keep_drops({{Flight::track, 0, 5, 3, 0}});
    writer.finish();
    write_file(path, *bytes);
  }
  const std::vector<std::filesystem::path> inputs{path};
  capture::merge(inputs, merged, {});
  for (const std::string& file : {path, merged}) {
    const DropTotals drops = stats::gather_statistics(Timeline(file)).drops;
    EXPECT_EQ(drops.dropped_scopes, 5U) << file;
    EXPECT_EQ(drops.dropped_others, 3U) << file;
  }
}

TEST(LostEvents, ACallThatEndsInThemLastsUpToThem) {
  const std::vector<std::byte> bytes = Flight::capture();
  const stats::CallTree tree = stats::gather_call_tree(open_memory(bytes));
  const auto load = std::find_if(tree.rows.begin(), tree.rows.end(),
                                 [](const stats::CallTreeRow& row) { return row.site == Flight::load_site; });
  ASSERT_NE(load, tree.rows.end());
  EXPECT_LE(load->total_ns, static_cast<std::uint64_t>(Flight::frames_a_batch * Flight::frame_ns));
}

TEST(LostEvents, NoFrameSpansThem) {
  const std::vector<std::byte> bytes = Flight::capture();
  const Timeline timeline = open_memory(bytes);
  EXPECT_EQ(starts_of(timeline.frames(Flight::stream)), Flight::starts_ns());
  const std::int64_t lost_ns = Flight::first_lost_mark * Flight::frame_ns;
  EXPECT_TRUE(timeline.frames(Flight::stream, {lost_ns + 5, lost_ns + 50'000'000}).empty());
  EXPECT_EQ(timeline.frames(Flight::stream, {lost_ns - Flight::frame_ns, lost_ns + 50'000'000}).size(), 0U);
  EXPECT_EQ(timeline.frames(Flight::stream, {lost_ns - 2 * Flight::frame_ns, lost_ns + 50'000'000}).size(), 1U);
  EXPECT_EQ(FrameStats::of(timeline, Flight::stream).max_ns(), Flight::frame_ns);
}

TEST(LostEvents, NoLongFrameIsCountedOrExplained) {
  const std::vector<std::byte> bytes = Flight::capture();
  const Timeline timeline = open_memory(bytes);
  const std::size_t count = Flight::starts_ns().size();
  const stats::Statistics statistics = stats::gather_statistics(timeline);
  ASSERT_EQ(statistics.frame_streams.size(), 1U);
  EXPECT_EQ(statistics.frame_streams[0].durations.count, count);
  EXPECT_EQ(statistics.frame_streams[0].durations.max_ns, Flight::frame_ns);

  const stats::Instances frames = stats::frames_of_main_streams(timeline);
  ASSERT_EQ(frames.all.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(frames.all[i].start_ns, Flight::starts_ns()[i]);
    EXPECT_EQ(frames.all[i].duration_ns, Flight::frame_ns);
    EXPECT_EQ(frames.all[i].number, i + 1) << "its place among Timeline::frames()";
  }

  stats::SideSamples side(1, 0, 1'000'000);
  side.add_run(timeline);
  const auto found = std::find_if(side.things().begin(), side.things().end(),
                                  [](const auto& thing) { return thing.first.kind == stats::ThingKind::frames; });
  ASSERT_NE(found, side.things().end());
  EXPECT_EQ(found->second.runs.at(0), std::vector<double>(count, static_cast<double>(Flight::frame_ns)));
}

TEST(LostEvents, AScopeAroundThemStaysOneScope) {
  const std::vector<std::byte> bytes = Flight::capture();
  const SpanList spans = open_memory(bytes).spans(Flight::track);
  const auto runs = std::count_if(spans.spans.begin(), spans.spans.end(),
                                  [](const Span& span) { return span.site == Flight::run_site; });
  EXPECT_EQ(runs, 1);
}

TEST(LostEvents, APhaseWhoseEndIsMissingIsLeftOut) {
  const std::vector<std::byte> bytes = Flight::capture();
  const std::vector<Phase> phases = open_memory(bytes).phases();
  // Points 1 to 8 at batches 0, 5, ... 35 are lost; the one of batch 40 is there.
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].number, 9U);
}

/// A merged capture has summaries, and the breaks in its blocks.
TEST(LostEvents, NoFrameSpansThemOnceTheCaptureIsMerged) {
  const TemporaryDirectory directory;
  const std::vector<std::filesystem::path> inputs{std::string(directory / "run.kymo")};
  write_file(inputs[0].string(), Flight::capture());
  capture::merge(inputs, std::string(directory / "merged.kymo"));
  const Timeline merged(directory / "merged.kymo");
  const FrameStreamId stream = merged.declarations().frame_streams.at(0).id;
  EXPECT_EQ(merged.frames(stream).size(), Flight::starts_ns().size());
  EXPECT_EQ(FrameStats::of(merged, stream).max_ns(), Flight::frame_ns);
  const stats::Statistics statistics = stats::gather_statistics(merged);
  EXPECT_GT(statistics.summaries_used, 0U);
  EXPECT_EQ(statistics.frame_streams.at(0).durations.max_ns, Flight::frame_ns);
  EXPECT_EQ(statistics.frame_streams.at(0).durations.count, Flight::starts_ns().size());
}

}  // namespace
}  // namespace kymo::test
