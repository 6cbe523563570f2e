// A merge holds what its inputs hold, on one axis.
#include "capture/merge/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include <kymo/timeline.hpp>

#include "capture/write/capture_writer.hpp"
#include "recording_model.hpp"
#include "span_text.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::test {
namespace {

constexpr TimeRange all_time{};

std::vector<std::string> spans_of_all(const Timeline& timeline) {
  std::vector<TrueSpan> spans;
  for (const TrackDeclaration& track : timeline.tracks()) {
    const SpanList list = timeline.spans(track.id);
    const auto found = to_true(timeline, list);
    spans.insert(spans.end(), found.begin(), found.end());
  }
  return texts_of(spans, true);
}

std::vector<std::filesystem::path> paths(std::initializer_list<std::string> names) {
  return {names.begin(), names.end()};
}

/// Every block states the open scopes of every track, as readers rely on.
void expect_every_block_names_what_is_open(const CaptureReader& reader) {
  std::map<TrackId, std::vector<OpenScope>> open;
  EventBatch batch;
  for (const BlockInfo& block : reader.blocks()) {
    if (block.kind != BlockKind::events) {
      continue;
    }
    ASSERT_TRUE(reader.read(block, batch));
    std::set<TrackId> named;
    for (const ScopeRun& run : batch.runs) {
      EXPECT_TRUE(named.insert(run.track).second) << "two runs of a track";
      std::vector<OpenScope>& stack = open[run.track];
      ASSERT_EQ(run.open_at_start.size(), stack.size());
      for (const ScopeEvent& event : run.events) {
        stack.resize(std::min<std::size_t>(stack.size(), event.depth));
        if (event.is_open()) {
          stack.push_back({event.time_ns, event.site});
        }
      }
    }
    for (const auto& [track, stack] : open) {
      EXPECT_TRUE(stack.empty() || named.count(track) != 0) << "a quiet track is not named";
    }
  }
}

TEST(Merge, HoldsTheSpansOfAllItsInputs) {
  const RecordingModel a({.seed = 61, .steps = 3000, .prefix = "a ", .pid = 1});
  const RecordingModel b({.seed = 62, .start_ns = 1'002'000'000, .prefix = "b ", .pid = 2});
  const RecordingModel c({.seed = 63, .start_ns = 1'001'000'000, .prefix = "c ", .pid = 3});
  const TemporaryDirectory directory;
  const auto inputs = paths({a.write_file(directory / "a.kymo"), b.write_file(directory / "b.kymo", false),
                             c.write_file(directory / "c.kymo")});
  const capture::MergeReport report = capture::merge(inputs, directory / "all.kymo");
  EXPECT_TRUE(report.notes.empty());
  const Timeline merged(report.output);
  const Timeline apart({inputs[0].string(), inputs[1].string(), inputs[2].string()});
  EXPECT_EQ(merged.processes().size(), 3U);
  EXPECT_TRUE(merged.capture(0).is_closed());
  TrueRecording truth = a.truth();
  for (const RecordingModel* other : {&b, &c}) {
    truth.spans.insert(truth.spans.end(), other->truth().spans.begin(), other->truth().spans.end());
  }
  EXPECT_EQ(spans_of_all(merged), texts_of(truth.spans, true));
  expect_every_block_names_what_is_open(merged.capture(0));
  std::uint64_t scopes = 0;
  for (const TrackTotals& track : apart.totals()) {
    scopes += track.recorded_scopes;
  }
  EXPECT_EQ(report.scopes, scopes);
  std::uint64_t merged_scopes = 0;
  std::uint64_t dropped = 0;
  for (const TrackTotals& track : merged.totals()) {
    merged_scopes += track.recorded_scopes;
    dropped += track.dropped_scopes;
  }
  EXPECT_EQ(merged_scopes, scopes);
  EXPECT_EQ(dropped, a.truth().dropped_scopes + b.truth().dropped_scopes + c.truth().dropped_scopes);
}

void expect_ranges_of_the_inputs(bool lags) {
  const RecordingModel a({.seed = 64, .prefix = "a ", .pid = 1, .closes_all = true, .lags = lags});
  const RecordingModel b(
      {.seed = 65, .start_ns = 1'000'300'000, .prefix = "b ", .pid = 2, .closes_all = true, .lags = lags});
  const TemporaryDirectory directory;
  const auto inputs = paths({a.write_file(directory / "a.kymo"), b.write_file(directory / "b.kymo")});
  const Timeline merged(capture::merge(inputs, directory / "all.kymo").output);
  const Timeline apart({inputs[0].string(), inputs[1].string()});
  std::mt19937_64 random(3);
  for (const TrackDeclaration& track : merged.tracks()) {
    for (unsigned i = 0; i < 40; ++i) {
      const std::int64_t start = 1'000'000'000 + static_cast<std::int64_t>(random() % 12'000'000);
      const TimeRange range{start, start + static_cast<std::int64_t>(random() % 300'000)};
      const auto drop_open_async = [](std::vector<TrueSpan> spans) {
        spans.erase(std::remove_if(spans.begin(), spans.end(), [](const TrueSpan& span) { return span.is_open; }),
                    spans.end());
        return spans;
      };
      const SpanList in_merge = merged.spans(track.id, range);
      const SpanList in_inputs = apart.spans(find_track(apart, track.name), range);
      EXPECT_EQ(texts_of(drop_open_async(to_true(merged, in_merge)), false),
                texts_of(drop_open_async(to_true(apart, in_inputs)), false));
    }
  }
}

TEST(Merge, RangesOfAMergeAreReadAsThoseOfItsInputs) {
  expect_ranges_of_the_inputs(false);
}

TEST(Merge, RangesOfAMergeAreReadAsThoseOfInputsWithOneThreadWrittenAfterAnother) {
  expect_ranges_of_the_inputs(true);
}

TEST(Merge, WhatAProcessLeftOpenLastsUntilItsOwnCaptureEnded) {
  const RecordingModel longer({.seed = 67, .steps = 6000, .prefix = "a ", .pid = 1});
  const RecordingModel killed({.seed = 68, .steps = 500, .prefix = "b ", .pid = 2});
  ASSERT_LT(killed.truth().end_ns, longer.truth().end_ns);
  const TemporaryDirectory directory;
  const auto inputs = paths({longer.write_file(directory / "a.kymo"), killed.write_file(directory / "b.kymo", false)});
  const auto once = capture::merge(inputs, directory / "once.kymo").output;
  const auto twice = capture::merge(std::vector<std::filesystem::path>{once}, directory / "twice.kymo").output;
  std::vector<TrueSpan> expected;
  for (const RecordingModel* model : {&longer, &killed}) {
    std::copy_if(model->truth().spans.begin(), model->truth().spans.end(), std::back_inserter(expected),
                 [](const TrueSpan& span) { return span.is_open; });
  }
  ASSERT_GT(std::count_if(expected.begin(), expected.end(),
                          [&](const TrueSpan& span) { return span.end_ns == killed.truth().end_ns; }),
            1);
  for (const auto& path : {once, twice}) {
    const Timeline merged(path);
    EXPECT_EQ(texts_of(to_true(merged, merged.open_spans()), false), texts_of(expected, false));
    std::vector<TrueSpan> visited;
    merged.visit_spans([&](const SpanList& list) {
      for (const TrueSpan& span : to_true(merged, list)) {
        if (span.is_open) {
          visited.push_back(span);
        }
      }
      return true;
    });
    EXPECT_EQ(texts_of(visited, false), texts_of(expected, false));
  }
}

TEST(Merge, KeepsFramesSamplesMessagesAndSyncPoints) {
  const RecordingModel a({.seed = 66, .prefix = "a ", .pid = 1});
  const RecordingModel b({.seed = 67, .prefix = "b ", .pid = 2});
  const TemporaryDirectory directory;
  const auto inputs = paths({a.write_file(directory / "a.kymo"), b.write_file(directory / "b.kymo")});
  const Timeline merged(capture::merge(inputs, directory / "all.kymo").output);
  ASSERT_EQ(merged.declarations().frame_streams.size(), 2U);
  EXPECT_EQ(merged.frames(FrameStreamId{1}).size(), a.truth().frame_marks.size() - 1);
  EXPECT_EQ(merged.frames(FrameStreamId{2}).size(), b.truth().frame_marks.size() - 1);
  EXPECT_EQ(merged.series(MetricId{1}).values.size(), a.truth().samples.size());
  EXPECT_EQ(merged.series(MetricId{2}).values.size(), b.truth().samples.size());
  EXPECT_EQ(merged.messages().size(), a.truth().messages.size() + b.truth().messages.size());
  EXPECT_EQ(merged.sync_points().size(), a.truth().sync_points.size() + b.truth().sync_points.size());
}

TEST(Merge, KeepsTheFramesOfMarksThatCameLate) {
  const TemporaryDirectory directory;
  capture::CaptureWriterOptions options;
  options.declarations.processes.push_back({ProcessId{1}, 100, "here", "boot", "", "program"});
  options.declarations.frame_streams.push_back({FrameStreamId{1}, ProcessId{1}, ""});
  capture::CaptureWriter writer(directory / "a.kymo", std::move(options));
  for (const std::vector<std::int64_t>& times : {std::vector<std::int64_t>{100, 300}, {200, 400}, {450}}) {
    EventBatch batch;
    batch.start_ns = times.front();
    batch.end_ns = times.back();
    for (const std::int64_t time_ns : times) {
      batch.frame_marks.push_back({FrameStreamId{1}, {}, time_ns});
    }
    writer.write(batch);
  }
  writer.finish();
  const Timeline merged(capture::merge(paths({directory / "a.kymo"}), directory / "all.kymo").output);
  std::vector<std::int64_t> durations_ns;
  for (const Frame& frame : merged.frames(FrameStreamId{1})) {
    durations_ns.push_back(frame.duration_ns);
  }
  EXPECT_EQ(durations_ns, (std::vector<std::int64_t>{200, 0, 100, 50}));
}

TEST(Merge, StatesHowProcessesOfOtherBootsWereShifted) {
  const RecordingModel a({.seed = 68, .prefix = "a "});
  const RecordingModel b({.seed = 69,
                          .prefix = "b ",
                          .host = "there",
                          .boot_id = "boot-2",
                          .wall_clock_offset_ns = 1'700'000'000'000'700'000});
  const TemporaryDirectory directory;
  const auto inputs = paths({a.write_file(directory / "a.kymo"), b.write_file(directory / "b.kymo")});
  const std::string merged = capture::merge(inputs, directory / "all.kymo").output;
  // Also when it is merged once more.
  const auto again = paths({merged});
  for (const std::string& path : {merged, capture::merge(again, directory / "again.kymo").output}) {
    const Timeline timeline(path);
    ASSERT_EQ(timeline.processes().size(), 2U);
    EXPECT_EQ(timeline.processes()[0].alignment, Alignment::same_boot);
    EXPECT_EQ(timeline.processes()[1].alignment, Alignment::wall_clock);
    EXPECT_EQ(timeline.processes()[1].offset_ns, 700'000);
    EXPECT_EQ(timeline.processes()[1].bound_ns, 600);
    const SpanList list = timeline.spans(find_track(timeline, "b thread 0"));
    ASSERT_FALSE(list.spans.empty());
    const auto truth = overlapping(b.truth(), "b thread 0", all_time.start_ns, all_time.end_ns);
    const auto first = std::min_element(truth.begin(), truth.end(),
                                        [](const auto& x, const auto& y) { return x.start_ns < y.start_ns; });
    EXPECT_EQ(list.spans.front().start_ns, first->start_ns + 700'000);
  }
}

TEST(Merge, KeepsApartWhatTheThreadsWithoutATrackOfEachProcessLost) {
  const TemporaryDirectory directory;
  std::vector<std::filesystem::path> inputs;
  for (const std::uint64_t dropped : {std::uint64_t{3}, std::uint64_t{5}}) {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, dropped, "here", "boot-1", "", "program"});
    inputs.emplace_back(directory / (std::to_string(dropped) + ".kymo"));
    capture::CaptureWriter writer(inputs.back().string(), std::move(options));
    EventBatch batch;
    batch.start_ns = batch.end_ns = 5'000'000'000;
    batch.runs.emplace_back().dropped_scopes = dropped;
    writer.write(batch);
    writer.finish();
  }
  const Timeline merged(capture::merge(inputs, directory / "all.kymo").output);
  std::uint64_t dropped = 0;
  for (const TrackTotals& track : merged.totals()) {
    dropped += track.dropped_scopes;
    EXPECT_NE(merged.track(track.track).name, "");
  }
  EXPECT_EQ(dropped, 8U);
}

TEST(Merge, RedactsWhatTellsWhoRanWhat) {
  const TemporaryDirectory directory;
  capture::CaptureWriterOptions options;
  options.declarations.processes.push_back(
      {ProcessId{1}, 7, "secret-host", "boot-1", "", "tool --password secret-word"});
  options.declarations.infos = {{ProcessId{1}, "cpu", "a processor"},
                                {ProcessId{1}, "executable", "/home/secret-user/tool"},
                                {ProcessId{1}, "record.command", "tool secret-word"},
                                {ProcessId{1}, "record.exit_status", "0"},
                                {ProcessId{1}, "customer", "secret-customer"}};
  SiteDeclaration site;
  site.id = SiteId{1};
  site.name = "work";
  site.file = "/home/secret-user/src/work.cpp";
  options.declarations.sites.push_back(site);
  options.declarations.functions = {{FunctionId{1}, ModuleId{}, 0, "work", "/home/secret-user/src/work.cpp"}};
  const std::string input = directory / "in.kymo";
  capture::CaptureWriter(input, std::move(options)).finish();
  capture::MergeOptions how;
  how.redacts = true;
  const capture::MergeReport report = capture::merge(paths({input}), directory / "out.kymo", how);
  const Timeline merged(report.output);
  TimelineOptions redacting;
  redacting.redacts = true;
  const Timeline redacted(input, redacting);
  for (const Timeline* timeline : {&merged, &redacted}) {
    ASSERT_EQ(timeline->processes().size(), 1U);
    const TimelineProcess& process = timeline->processes()[0];
    EXPECT_EQ(process.declaration.host + process.declaration.command_line, "");
    using Infos = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(process.infos, (Infos{{"cpu", "a processor"}, {"record.exit_status", "0"}}));
    EXPECT_EQ(timeline->declarations().sites.at(0).file, "work.cpp");
    EXPECT_EQ(timeline->declarations().sites.at(0).name, "work");
    EXPECT_EQ(timeline->declarations().functions.at(0).file, "work.cpp");
  }
}

TEST(Merge, OfNothingHoldsTheFactsAlone) {
  const TemporaryDirectory directory;
  capture::MergeOptions options;
  options.facts.push_back({{{}, 77, "here", "boot-1", "", "true"}, {{"record.exit_status", "0"}}});
  const capture::MergeReport report = capture::merge({}, directory / "empty.kymo", options);
  const Timeline timeline(report.output);
  ASSERT_EQ(timeline.processes().size(), 1U);
  EXPECT_EQ(timeline.processes()[0].declaration.pid, 77U);
  EXPECT_EQ(timeline.processes()[0].infos.front().second, "0");
  EXPECT_EQ(timeline.range().start_ns, timeline.range().end_ns);
}

TEST(Merge, AddsFactsToTheProcessThatHasThePid) {
  const RecordingModel a({.seed = 70, .pid = 5});
  const TemporaryDirectory directory;
  capture::MergeOptions options;
  options.facts.push_back({{{}, 5, "here", "boot-1", "", "other words"}, {{"record.signal", "9"}}});
  const auto inputs = paths({a.write_file(directory / "a.kymo")});
  const Timeline timeline(capture::merge(inputs, directory / "all.kymo", options).output);
  ASSERT_EQ(timeline.processes().size(), 1U);
  EXPECT_EQ(timeline.processes()[0].declaration.command_line, "program");
  EXPECT_EQ(timeline.processes()[0].infos.back(), (std::pair<std::string, std::string>("record.signal", "9")));
}

TEST(Merge, AddsUpWhatWasSpentAndLostButNotWhatAScopeCosts) {
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& name, std::uint64_t cost_ps) {
    capture::CaptureWriter writer(directory / name, {});
    writer.set_closing_fact("collector_cpu_ns", 1000 + cost_ps);
    writer.set_closing_fact("empty_scope_ps", cost_ps);
    writer.set_closing_fact("stacks_lost", 2);
    writer.finish();
    return directory / name;
  };
  const auto inputs = paths({write("a.kymo", 20), write("b.kymo", 30), write("c.kymo", 25)});
  const CaptureReader merged(capture::merge(inputs, directory / "all.kymo").output);
  const std::map<std::string, std::uint64_t> facts(merged.end().facts.begin(), merged.end().facts.end());
  EXPECT_EQ(facts, (std::map<std::string, std::uint64_t>{
                       {"collector_cpu_ns", 3075}, {"empty_scope_ps", 30}, {"stacks_lost", 6}}));
}

TEST(Merge, NeverOverwritesAndLeavesNothingBehindWhenItFails) {
  const RecordingModel a({.seed = 71});
  const TemporaryDirectory directory;
  const auto inputs = paths({a.write_file(directory / "a.kymo")});
  std::ofstream(directory / "all.kymo") << "mine";
  EXPECT_EQ(capture::merge(inputs, directory / "all.kymo").output, directory / "all-1.kymo");
  const auto missing = paths({directory / "a.kymo", directory / "missing.kymo"});
  EXPECT_THROW(capture::merge(missing, directory / "none.kymo"), CaptureError);
  EXPECT_FALSE(std::filesystem::exists(directory / "none.kymo"));
}

TEST(Merge, TellsWhatWasDamagedAndKeepsTheRest) {
  const RecordingModel a({.seed = 72, .steps = 3000});
  auto bytes = a.write();
  {
    const CaptureReader reader(bytes.data(), bytes.size(), "memory");
    std::vector<BlockInfo> events;
    std::copy_if(reader.blocks().begin(), reader.blocks().end(), std::back_inserter(events),
                 [](const BlockInfo& block) { return block.kind == BlockKind::events; });
    bytes[events[events.size() / 2].offset + 60] ^= std::byte{1};
  }
  const TemporaryDirectory directory;
  std::ofstream(directory / "a.kymo", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto inputs = paths({directory / "a.kymo"});
  const capture::MergeReport report = capture::merge(inputs, directory / "all.kymo");
  EXPECT_EQ(report.notes.size(), 1U);
  EXPECT_GT(report.scopes, 100U);
  const Timeline damaged(directory / "a.kymo");
  const Timeline merged(report.output);
  std::size_t in_damaged = 0;
  std::size_t in_merged = 0;
  const auto count = [](std::size_t& sum) {
    return [&sum](const SpanList& list) {
      sum += static_cast<std::size_t>(std::count_if(list.spans.begin(), list.spans.end(), [](const Span& span) {
        return (span.flags & Span::end_unknown) == 0;
      }));
      return true;
    };
  };
  damaged.visit_spans(count(in_damaged));
  merged.visit_spans(count(in_merged));
  EXPECT_EQ(in_merged, in_damaged);
}

std::string fact_of_first_process(const std::string& path, const char* key) {
  const Timeline timeline(path);
  for (const auto& [known, value] : timeline.processes().at(0).infos) {
    if (known == key) {
      return value;
    }
  }
  return {};
}

/// Flips a bit in a block of events.
void damage_events(const std::string& path) {
  std::uint64_t at = 0;
  {
    const CaptureReader reader(path);
    for (const BlockInfo& block : reader.blocks()) {
      at = block.kind == BlockKind::events && block.stored_bytes > 20 ? block.offset + 60 : at;
    }
  }
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const char flipped = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(flipped);
}

TEST(Merge, SaysOfDamagedInputsAlsoWhenMergedAgainHowMuchIsMissing) {
  const RecordingModel a({.seed = 73, .steps = 3000});
  const TemporaryDirectory directory;
  const std::string path = a.write_file(directory / "a.kymo");
  damage_events(path);
  const auto merge = [&](const std::string& input, const std::string& output) {
    return capture::merge(paths({input}), directory / output).output;
  };
  const std::string merged = merge(path, "merged.kymo");
  EXPECT_TRUE(CaptureReader(merged).damages().empty());
  const std::string missing = fact_of_first_process(merged, "source.unread_bytes");
  EXPECT_GT(std::stoull("0" + missing), 0U);
  EXPECT_EQ(fact_of_first_process(merged, "source.lacks_end"), "");
  const std::string again = merge(merged, "again.kymo");
  EXPECT_EQ(fact_of_first_process(again, "source.unread_bytes"), missing);
  damage_events(again);
  const std::string sum = fact_of_first_process(merge(again, "sum.kymo"), "source.unread_bytes");
  EXPECT_GT(std::stoull("0" + sum), std::stoull(missing));
}

TEST(Merge, SaysOfAnInputThatWasCutOffThatItLacksItsEnd) {
  const RecordingModel a({.seed = 74, .steps = 3000});
  const TemporaryDirectory directory;
  const std::string path = a.write_file(directory / "a.kymo");
  EXPECT_EQ(fact_of_first_process(capture::merge(paths({path}), directory / "whole.kymo").output, "source.lacks_end"),
            "");
  const std::uint64_t cut_at = CaptureReader(path).blocks().at(3).offset;
  std::filesystem::resize_file(path, cut_at);
  const std::string merged = capture::merge(paths({path}), directory / "merged.kymo").output;
  EXPECT_EQ(fact_of_first_process(merged, "source.lacks_end"), "1");
  capture::MergeOptions options;
  options.redacts = true;
  const std::string again = capture::merge(paths({merged}), directory / "again.kymo", options).output;
  EXPECT_EQ(fact_of_first_process(again, "source.lacks_end"), "1");
}

}  // namespace
}  // namespace kymo::test
