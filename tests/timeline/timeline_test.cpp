// The timeline against what really happened in made-up recordings.
#include <kymo/batch_cursor.hpp>
#include <kymo/timeline.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "capture/write/capture_writer.hpp"
#include "recording_model.hpp"
#include "span_text.hpp"
#include "support/memory_destination.hpp"
#include "support/rounds.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

std::vector<std::string> track_names(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const TrackDeclaration& track : timeline.tracks()) {
    names.push_back(track.name);
  }
  return names;
}

Timeline open_memory(const std::vector<std::byte>& bytes) {
  std::vector<CaptureReader> readers;
  readers.emplace_back(bytes.data(), bytes.size(), "memory");
  return Timeline(std::move(readers));
}

/// Asks for many ranges of every track and compares with the truth.
void expect_true_in_ranges(const Timeline& timeline, const TrueRecording& truth, std::uint32_t seed, unsigned ranges) {
  std::mt19937_64 random(seed);
  const std::int64_t length = truth.end_ns - truth.start_ns;
  for (const TrackDeclaration& track : timeline.tracks()) {
    for (unsigned i = 0; i < ranges; ++i) {
      const std::int64_t start =
          truth.start_ns - 1000 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length + 2000));
      const std::int64_t size = static_cast<std::int64_t>(random() % (i % 3 == 0   ? 50
                                                                      : i % 3 == 1 ? 20'000
                                                                                   : 2'000'000));
      const SpanList found = timeline.spans(track.id, {start, start + size});
      const std::vector<TrueSpan> expected = overlapping(truth, track.name, start, start + size);
      ASSERT_EQ(texts_of(to_true(timeline, found), false), texts_of(expected, false))
          << "track " << track.name << ", range " << start << " + " << size;
      for (const Span& span : found.spans) {
        EXPECT_EQ((span.flags & Span::starts_before_range) != 0, span.start_ns < start);
        EXPECT_EQ((span.flags & Span::ends_after_range) != 0, span.end_ns() > start + size);
        EXPECT_EQ(span.flags & Span::end_unknown, 0);
      }
      ASSERT_TRUE(std::is_sorted(found.spans.begin(), found.spans.end(), [](const Span& a, const Span& b) {
        return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.depth < b.depth;
      }));
    }
  }
}

/// The captures and starts of the batches that a cursor returns.
std::vector<std::pair<std::size_t, std::int64_t>> batches_of(BatchCursor cursor) {
  std::vector<std::pair<std::size_t, std::int64_t>> found;
  double share = 0;
  for (EventBatch batch; cursor.next(batch);) {
    found.emplace_back(cursor.capture(), batch.start_ns);
    EXPECT_TRUE(batch.declarations.empty());
    EXPECT_GT(cursor.share_done(), share);
    share = cursor.share_done();
  }
  EXPECT_EQ(cursor.share_done(), 1);
  return found;
}

TEST(BatchCursorTest, EveryBlockOfTheRangeComesOnceTheEarliestOfTheCapturesNextOnesFirst) {
  const RecordingModel one({.seed = 1});
  const RecordingModel two({.seed = 2});
  const std::vector<std::byte> bytes[] = {one.write(), two.write()};
  std::vector<CaptureReader> readers;
  for (const std::vector<std::byte>& capture : bytes) {
    readers.emplace_back(capture.data(), capture.size(), "memory");
  }
  const Timeline timeline(std::move(readers));
  std::deque<std::int64_t> starts_ns[2];
  for (std::size_t i = 0; i < timeline.capture_count(); ++i) {
    for (const BlockInfo& block : timeline.capture(i).blocks()) {
      if (block.kind == BlockKind::events) {
        starts_ns[i].push_back(block.start_ns);
      }
    }
  }
  const auto all = batches_of(BatchCursor(timeline));
  ASSERT_EQ(all.size(), starts_ns[0].size() + starts_ns[1].size());
  for (const auto& [capture, start_ns] : all) {
    EXPECT_EQ(start_ns, starts_ns[capture].front());
    EXPECT_TRUE(starts_ns[1 - capture].empty() || start_ns <= starts_ns[1 - capture].front());
    starts_ns[capture].pop_front();
  }

  const TimeRange range = timeline.range();
  const std::int64_t middle_ns = range.start_ns + (range.end_ns - range.start_ns) / 2;
  const auto first_half = batches_of(BatchCursor(timeline, {range.start_ns, middle_ns}));
  EXPECT_EQ(first_half.size(), static_cast<std::size_t>(std::count_if(
                                   all.begin(), all.end(), [&](const auto& at) { return at.second < middle_ns; })));
  const auto of_second = batches_of(
      BatchCursor(timeline, {}, BatchParts::everything, [](std::size_t capture, std::size_t) { return capture == 1; }));
  EXPECT_EQ(of_second.size(), static_cast<std::size_t>(
                                  std::count_if(all.begin(), all.end(), [](const auto& at) { return at.first == 1; })));
}

TEST(Timeline, SpansOfAllTimeAreThoseThatHappened) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const RecordingModel model({.seed = seed});
    const auto bytes = model.write(seed % 2 == 0);
    const Timeline timeline = open_memory(bytes);
    std::vector<TrueSpan> found;
    for (const TrackDeclaration& track : timeline.tracks()) {
      const SpanList list = timeline.spans(track.id);
      const auto spans = to_true(timeline, list);
      found.insert(found.end(), spans.begin(), spans.end());
    }
    EXPECT_EQ(texts_of(found, true), texts_of(model.truth().spans, true)) << "seed " << seed;
  }
}

TEST(Timeline, SpansOfAnyRangeAreThoseThatOverlapIt) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const RecordingModel model({.seed = seed, .steps = 3000});
    const auto bytes = model.write(seed % 2 == 0);
    expect_true_in_ranges(open_memory(bytes), model.truth(), seed, test::rounds(150U));
  }
}

TEST(Timeline, SpansOfAnyRangeAreThoseThatOverlapItThoughOneThreadIsWrittenAfterAnother) {
  for (std::uint32_t seed = 31; seed <= 38; ++seed) {
    const RecordingModel model({.seed = seed, .steps = 3000, .closes_all = seed % 3 == 0, .lags = true});
    const auto bytes = model.write(seed % 2 == 0);
    expect_true_in_ranges(open_memory(bytes), model.truth(), seed, test::rounds(150U));
  }
}

TEST(Timeline, SelfTimeIsExactUnlessItIsMarkedAsABound) {
  const RecordingModel model({.seed = 5});
  const auto bytes = model.write();
  const Timeline timeline = open_memory(bytes);
  std::map<std::string, std::int64_t> self_of;
  for (const TrueSpan& span : model.truth().spans) {
    self_of[text_of(span, false)] = span.self_ns;
  }
  const std::int64_t middle = (model.truth().start_ns + model.truth().end_ns) / 2;
  std::size_t exact = 0;
  std::size_t bounds = 0;
  for (const TrackDeclaration& track : timeline.tracks()) {
    for (const TimeRange range : {TimeRange{}, TimeRange{middle, middle + 500'000}}) {
      const SpanList list = timeline.spans(track.id, range);
      for (const Span& span : list.spans) {
        const std::int64_t self = self_of.at(text_of(to_true(timeline, list, span), false));
        if ((span.flags & Span::self_is_bound) != 0) {
          EXPECT_GE(span.self_ns, self);
          ++bounds;
        } else {
          EXPECT_EQ(span.self_ns, self) << text_of(to_true(timeline, list, span), false);
          ++exact;
        }
      }
    }
  }
  EXPECT_GT(exact, 100U);
  EXPECT_GT(bounds, 0U);
}

TEST(Timeline, AVisitHandsOutEverySpanOnce) {
  for (std::uint32_t seed = 11; seed <= 14; ++seed) {
    const RecordingModel model({.seed = seed});
    const auto bytes = model.write();
    const Timeline timeline = open_memory(bytes);
    std::vector<TrueSpan> found;
    timeline.visit_spans([&](const SpanList& list) {
      const auto spans = to_true(timeline, list);
      found.insert(found.end(), spans.begin(), spans.end());
      for (const Span& span : list.spans) {
        const bool is_beside_dropped = timeline.track(span.track).name == RecordingModel::dropping_thread;
        EXPECT_EQ(span.flags & Span::end_unknown, 0);
        EXPECT_TRUE(is_beside_dropped || (span.flags & Span::self_is_bound) == 0);
      }
      return true;
    });
    EXPECT_EQ(texts_of(found, true), texts_of(model.truth().spans, true));
  }
}

TEST(Timeline, AVisitEndsWhenItIsToldTo) {
  const RecordingModel model({.seed = 2});
  const auto bytes = model.write();
  const Timeline timeline = open_memory(bytes);
  unsigned calls = 0;
  timeline.visit_spans([&](const SpanList&) { return ++calls < 3; });
  EXPECT_EQ(calls, 3U);
}

TEST(Timeline, OpenSpansAreThoseThatNeverEnded) {
  const RecordingModel model({.seed = 21});
  const auto bytes = model.write(false);
  const Timeline timeline = open_memory(bytes);
  std::vector<TrueSpan> expected;
  for (const TrueSpan& span : model.truth().spans) {
    if (span.is_open) {
      expected.push_back(span);
    }
  }
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(texts_of(to_true(timeline, timeline.open_spans()), false), texts_of(expected, false));
}

TEST(Timeline, TotalsOfAnUnclosedCaptureAreThoseOfTheClosedOne) {
  const RecordingModel model({.seed = 22});
  const auto closed = model.write(true);
  const auto unclosed = model.write(false);
  const auto expected = open_memory(closed).totals();
  const auto found = open_memory(unclosed).totals();
  ASSERT_EQ(found.size(), expected.size());
  std::uint64_t scopes = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].track, expected[i].track);
    EXPECT_EQ(found[i].recorded_scopes, expected[i].recorded_scopes);
    EXPECT_EQ(found[i].dropped_scopes, expected[i].dropped_scopes);
    EXPECT_EQ(found[i].end_sequence, expected[i].end_sequence);
    scopes += found[i].recorded_scopes;
  }
  EXPECT_EQ(found.front().dropped_scopes, model.truth().dropped_scopes);
  const auto& spans = model.truth().spans;
  EXPECT_EQ(scopes, static_cast<std::uint64_t>(std::count_if(spans.begin(), spans.end(), [](const TrueSpan& span) {
              return span.name.find("site") != std::string::npos;
            })));
}

/// A capture of a process whose threads without a track lost so many scopes, closed or not.
std::vector<std::byte> write_trackless(std::uint64_t dropped, bool finish) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  capture::CaptureWriterOptions options;
  options.header.owner_pid = 100;
  options.declarations.processes.push_back({ProcessId{1}, 100, "here", "boot-1", "", "program"});
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), std::move(options));
  EventBatch batch;
  batch.start_ns = batch.end_ns = 5'000'000'000;
  batch.runs.emplace_back().dropped_scopes = dropped;
  writer.write(batch);
  // As one of a thread that ended before it recorded anything.
  batch = EventBatch();
  batch.end_ns = 6'000'000'000;
  batch.track_ends.push_back({TrackId{1}, 0});
  writer.write(batch);
  if (finish) {
    writer.finish();
  }
  return *bytes;
}

TEST(Timeline, WhatThreadsWithoutATrackLostAddsUpOverCaptures) {
  for (const bool is_closed : {true, false}) {
    const auto first = write_trackless(3, is_closed);
    const auto second = write_trackless(5, is_closed);
    std::vector<CaptureReader> readers;
    readers.emplace_back(first.data(), first.size(), "first");
    readers.emplace_back(second.data(), second.size(), "second");
    const auto totals = Timeline(std::move(readers)).totals();
    ASSERT_EQ(totals.size(), 1U);
    EXPECT_FALSE(totals[0].track);
    EXPECT_EQ(totals[0].dropped_scopes, 8U);
  }
}

TEST(Timeline, AThreadThatRecordedNothingDoesNotMakeARecordingBeginAtBoot) {
  const auto bytes = write_trackless(1, true);
  EXPECT_EQ(open_memory(bytes).range().start_ns, 5'000'000'000);
}

TEST(Timeline, FramesOfAnyRangeAreTheStretchesBetweenMarks) {
  const RecordingModel model({.seed = 23});
  const auto bytes = model.write();
  const Timeline timeline = open_memory(bytes);
  std::mt19937_64 random(7);
  const auto& marks = model.truth().frame_marks;
  for (unsigned i = 0; i < 200; ++i) {
    const auto length = static_cast<std::uint64_t>(model.truth().end_ns - model.truth().start_ns);
    const std::int64_t start = model.truth().start_ns + static_cast<std::int64_t>(random() % length);
    const std::int64_t end = start + static_cast<std::int64_t>(random() % (i % 2 == 0 ? 100 : 1'000'000));
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    for (std::size_t mark = 0; mark + 1 < marks.size(); ++mark) {
      if (marks[mark] < end && (marks[mark + 1] > start || marks[mark] >= start)) {
        expected.emplace_back(marks[mark], marks[mark + 1] - marks[mark]);
      }
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    for (const Frame& frame : timeline.frames(FrameStreamId{1}, {start, end})) {
      found.emplace_back(frame.start_ns, frame.duration_ns);
    }
    ASSERT_EQ(found, expected) << start << ".." << end;
  }
  EXPECT_EQ(timeline.frames(FrameStreamId{1}).size(), marks.size() - 1);
}

TEST(Timeline, SeriesMessagesAndSyncPointsAreThoseOfTheRange) {
  const RecordingModel model({.seed = 24});
  const auto bytes = model.write();
  const Timeline timeline = open_memory(bytes);
  const TrueRecording& truth = model.truth();
  const TimeRange range{truth.start_ns + (truth.end_ns - truth.start_ns) / 3,
                        truth.start_ns + (truth.end_ns - truth.start_ns) / 2};
  const auto is_inside = [&](std::int64_t time_ns) { return time_ns >= range.start_ns && time_ns < range.end_ns; };

  std::vector<std::pair<std::int64_t, double>> samples;
  std::copy_if(truth.samples.begin(), truth.samples.end(), std::back_inserter(samples),
               [&](const auto& sample) { return is_inside(sample.first); });
  const MetricSeries series = timeline.series(MetricId{1}, range);
  ASSERT_EQ(series.times_ns.size(), series.values.size());
  ASSERT_EQ(series.times_ns.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(series.times_ns[i], samples[i].first);
    EXPECT_EQ(series.values[i], samples[i].second);
  }
  EXPECT_EQ(timeline.series(MetricId{1}).values.size(), truth.samples.size());

  std::vector<std::pair<std::int64_t, std::string>> messages;
  for (const Message& message : timeline.messages()) {
    messages.emplace_back(message.time_ns, message.text);
  }
  EXPECT_EQ(messages, truth.messages);

  const std::vector<Phase> phases = timeline.phases();
  ASSERT_EQ(phases.size(), truth.sync_points.size());
  for (std::size_t i = 0; i < phases.size(); ++i) {
    EXPECT_EQ(phases[i].number, truth.sync_points[i].second);
    EXPECT_EQ(phases[i].start_ns, truth.sync_points[i].first);
    EXPECT_EQ(phases[i].end_ns, i + 1 < phases.size() ? truth.sync_points[i + 1].first : truth.end_ns);
  }
}

TEST(Timeline, CapturesOfOneBootShareTheAxisExactly) {
  const RecordingModel first({.seed = 31, .prefix = "a ", .pid = 1});
  const RecordingModel second({.seed = 32, .start_ns = 1'000'500'000, .prefix = "b ", .pid = 2});
  const TemporaryDirectory directory;
  const Timeline timeline({first.write_file(directory / "a.kymo"), second.write_file(directory / "b.kymo")});
  ASSERT_EQ(timeline.processes().size(), 2U);
  EXPECT_EQ(timeline.processes()[1].alignment, Alignment::same_boot);
  EXPECT_EQ(timeline.processes()[1].offset_ns, 0);
  EXPECT_EQ(timeline.range().start_ns, std::min(first.truth().start_ns, second.truth().start_ns));
  TrueRecording both = first.truth();
  both.spans.insert(both.spans.end(), second.truth().spans.begin(), second.truth().spans.end());
  both.end_ns = std::max(both.end_ns, second.truth().end_ns);
  expect_true_in_ranges(timeline, both, 3, 60);
  EXPECT_EQ(timeline.process(timeline.track(find_track(timeline, "b thread 0")).process).declaration.pid, 2U);
}

TEST(Timeline, CapturesOfOneBootInOtherTimeNamespacesAreAlignedByWhatTheseAdd) {
  const RecordingModel first({.seed = 31, .prefix = "a ", .pid = 1});
  const RecordingModel second({.seed = 32, .prefix = "b ", .pid = 2});
  const TemporaryDirectory directory;
  const auto write_with_offset = [&](const std::string& name, const std::string& offset) {
    capture::CaptureWriterOptions options = second.writer_options();
    options.declarations.infos.push_back({ProcessId{1}, "clock.namespace_offset_ns", offset});
    capture::CaptureWriter writer(directory / name, std::move(options));
    for (const EventBatch& batch : second.batches()) {
      writer.write(batch);
    }
    writer.finish();
    return directory / name;
  };
  const std::string in_file = first.write_file(directory / "a.kymo");
  const Timeline timeline({in_file, write_with_offset("b.kymo", "3600000000000")});
  EXPECT_EQ(timeline.processes()[1].alignment, Alignment::same_boot);
  EXPECT_EQ(timeline.processes()[1].offset_ns, -3'600'000'000'000);
  const Timeline unknown({in_file, write_with_offset("c.kymo", "unknown")});
  EXPECT_EQ(unknown.processes()[1].alignment, Alignment::wall_clock);
}

TEST(Timeline, CapturesOfOtherBootsAreAlignedByWallClockWithinTheirBound) {
  const RecordingModel first({.seed = 33, .prefix = "a ", .anchor_bound_ns = 300});
  // Its clock began 5 s later, as the wall clock tells.
  const RecordingModel second({.seed = 34,
                               .prefix = "b ",
                               .host = "there",
                               .boot_id = "boot-2",
                               .wall_clock_offset_ns = 1'700'000'005'000'000'000,
                               .anchor_bound_ns = 400});
  const TemporaryDirectory directory;
  const Timeline timeline({first.write_file(directory / "a.kymo"), second.write_file(directory / "b.kymo")});
  const TimelineProcess& process = timeline.processes()[1];
  EXPECT_EQ(process.alignment, Alignment::wall_clock);
  EXPECT_EQ(process.offset_ns, 5'000'000'000);
  EXPECT_EQ(process.bound_ns, 700);
  TrueRecording shifted = second.truth();
  for (TrueSpan& span : shifted.spans) {
    span.start_ns += process.offset_ns;
    span.end_ns += process.offset_ns;
  }
  const SpanList found = timeline.spans(find_track(timeline, "b thread 1"));
  EXPECT_EQ(texts_of(to_true(timeline, found), true),
            texts_of(overlapping(shifted, "b thread 1", std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()),
                     true));
}

TEST(Timeline, CapturesOfOtherBootsCanBeAlignedBySyncPoints) {
  const RecordingModel first({.seed = 35, .prefix = "a "});
  const RecordingModel second({.seed = 36, .prefix = "b ", .boot_id = "boot-2"});
  ASSERT_FALSE(first.truth().sync_points.empty());
  ASSERT_FALSE(second.truth().sync_points.empty());
  const TemporaryDirectory directory;
  TimelineOptions options;
  options.align_by_sync_points = true;
  const Timeline timeline({first.write_file(directory / "a.kymo"), second.write_file(directory / "b.kymo")}, options);
  const TimelineProcess& process = timeline.processes()[1];
  EXPECT_EQ(process.alignment, Alignment::sync_point);
  EXPECT_EQ(process.offset_ns, first.truth().sync_points[0].first - second.truth().sync_points[0].first);
  const std::size_t shared = std::min(first.truth().sync_points.size(), second.truth().sync_points.size());
  std::int64_t bound = shared == 1 ? -1 : 0;
  for (std::size_t i = 1; i < shared; ++i) {
    const std::int64_t apart =
        second.truth().sync_points[i].first + process.offset_ns - first.truth().sync_points[i].first;
    bound = std::max(bound, apart < 0 ? -apart : apart);
  }
  EXPECT_EQ(process.bound_ns, bound);
}

TEST(Timeline, AGrowingCaptureIsFollowed) {
  const RecordingModel model({.seed = 41});
  const TemporaryDirectory directory;
  capture::CaptureWriter writer(directory / "a.kymo", model.writer_options());
  writer.write(model.batches().front());
  Timeline timeline(directory / "a.kymo");
  for (std::size_t i = 1; i < model.batches().size(); ++i) {
    writer.write(model.batches()[i]);
    EXPECT_TRUE(timeline.refresh());
  }
  EXPECT_FALSE(timeline.refresh());
  expect_true_in_ranges(timeline, model.truth(), 4, 40);
  writer.finish();
  EXPECT_TRUE(timeline.refresh());
  EXPECT_TRUE(timeline.capture(0).is_closed());
  expect_true_in_ranges(timeline, model.truth(), 5, 40);
}

TEST(Timeline, ADirectoryIsEveryCaptureInItAndLaterOnes) {
  const RecordingModel first({.seed = 42, .prefix = "a ", .pid = 1});
  const RecordingModel second({.seed = 43, .prefix = "b ", .pid = 2});
  const TemporaryDirectory directory;
  EXPECT_THROW(Timeline{directory.path().string()}, CaptureError);
  static_cast<void>(first.write_file(directory / "a.kymo"));
  Timeline timeline(directory.path().string());
  const TrackId before = find_track(timeline, "a thread 1");
  static_cast<void>(second.write_file(directory / "b.kymo"));
  EXPECT_TRUE(timeline.refresh());
  EXPECT_EQ(timeline.capture_count(), 2U);
  EXPECT_EQ(find_track(timeline, "a thread 1"), before);
  TrueRecording both = first.truth();
  both.spans.insert(both.spans.end(), second.truth().spans.begin(), second.truth().spans.end());
  expect_true_in_ranges(timeline, both, 6, 30);
}

TEST(Timeline, AFileOfADirectoryThatIsNoCaptureIsLeftOutAndSaid) {
  const RecordingModel model({.seed = 44});
  const TemporaryDirectory directory;
  static_cast<void>(model.write_file(directory / "a.kymo"));
  std::ofstream(directory / "b.kymo") << "not a capture at all, but long enough to look at";
  const Timeline timeline(directory.path().string());
  EXPECT_EQ(timeline.capture_count(), 1U);
  ASSERT_EQ(timeline.complaints().size(), 1U);
  EXPECT_NE(timeline.complaints()[0].find("b.kymo"), std::string::npos);
}

TEST(Timeline, AnEmptyFileBesideOthersIsLeftOutUntilItIsACapture) {
  const RecordingModel model({.seed = 44});
  const RecordingModel later({.seed = 45, .prefix = "later ", .pid = 2});
  const TemporaryDirectory directory;
  static_cast<void>(model.write_file(directory / "a.kymo"));
  const std::string empty = directory / "b.kymo";
  std::ofstream{empty};
  Timeline named({empty, directory / "a.kymo"});
  EXPECT_EQ(named.capture_count(), 1U);
  EXPECT_EQ(named.empty_files(), std::set<std::string>{empty});
  Timeline timeline(directory.path().string());
  EXPECT_EQ(timeline.empty_files(), std::set<std::string>{empty});
  EXPECT_TRUE(timeline.complaints().empty());
  EXPECT_FALSE(timeline.refresh());
  std::filesystem::remove(empty);
  EXPECT_FALSE(named.refresh());
  EXPECT_TRUE(named.complaints().empty());
  static_cast<void>(later.write_file(empty));
  for (Timeline* const each : {&timeline, &named}) {
    EXPECT_TRUE(each->refresh());
    EXPECT_EQ(each->capture_count(), 2U);
    EXPECT_TRUE(each->empty_files().empty());
  }
}

TEST(Timeline, EmptyFilesAloneAreAnError) {
  const TemporaryDirectory directory;
  const std::string empty = directory / "a.kymo";
  std::ofstream{empty};
  for (const std::vector<std::string>& paths :
       {std::vector<std::string>{empty}, {empty, empty}, {directory.path().string()}}) {
    try {
      const Timeline timeline(paths);
      ADD_FAILURE() << "opened " << paths.front();
    } catch (const CaptureError& error) {
      EXPECT_NE(std::string(error.what()).find(empty + ": is empty"), std::string::npos) << error.what();
    }
  }
}

TEST(Timeline, ADamagedBlockCostsOnlyWhatItHolds) {
  const RecordingModel model({.seed = 51, .steps = 4000});
  auto bytes = model.write();
  BlockInfo hit;
  {
    const CaptureReader reader(bytes.data(), bytes.size(), "memory");
    std::vector<BlockInfo> events;
    for (const BlockInfo& block : reader.blocks()) {
      if (block.kind == BlockKind::events) {
        events.push_back(block);
      }
    }
    hit = events[events.size() / 2];
  }
  bytes[hit.offset + 48 + hit.stored_bytes / 2] ^= std::byte{0x40};
  const Timeline timeline = open_memory(bytes);
  for (const std::string& name : track_names(timeline)) {
    const SpanList found = timeline.spans(find_track(timeline, name));
    const auto all = texts_of(overlapping(model.truth(), name, std::numeric_limits<std::int64_t>::min(),
                                          std::numeric_limits<std::int64_t>::max()),
                              false);
    std::vector<TrueSpan> sound;
    for (const Span& span : found.spans) {
      if ((span.flags & Span::end_unknown) == 0) {
        sound.push_back(to_true(timeline, found, span));
      }
    }
    const auto seen = texts_of(sound, false);
    // Nothing that did not happen, and everything that neither began nor ended in the damaged block.
    EXPECT_TRUE(std::includes(all.begin(), all.end(), seen.begin(), seen.end())) << name;
    for (const TrueSpan& span : model.truth().spans) {
      const bool is_out = span.end_ns < hit.start_ns || span.start_ns > hit.end_ns;
      if (span.track == name && is_out) {
        EXPECT_TRUE(std::binary_search(seen.begin(), seen.end(), text_of(span, false))) << text_of(span, false);
      }
    }
  }
  EXPECT_EQ(timeline.capture(0).damages().size(), 1U);
}

TEST(Timeline, WhatIsNotDeclaredIsSaidToBeUndeclared) {
  EventBatch batch;
  batch.start_ns = 10;
  batch.end_ns = 20;
  batch.runs.push_back({TrackId{7}, 0, 2, 0, 0, {}, {{10, SiteId{9}, 0, 0}, {20, {}, 0, 0}}, {}});
  auto bytes = std::make_shared<std::vector<std::byte>>();
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes),
                                RecordingModel({.seed = 1, .steps = 1}).writer_options());
  writer.write(batch);
  writer.finish();
  const Timeline timeline = open_memory(*bytes);
  unsigned spans = 0;
  timeline.visit_spans([&](const SpanList& list) {
    for (const Span& span : list.spans) {
      EXPECT_EQ(timeline.name_of(span), "(undeclared)");
      EXPECT_EQ(timeline.track(span.track).name, "(undeclared)");
      EXPECT_EQ(timeline.spans(span.track).spans.size(), 1U);
      ++spans;
    }
    return true;
  });
  EXPECT_EQ(spans, 1U);
}

}  // namespace
}  // namespace kymo::test
