// Exports of a part of a timeline, against the model's truth.
#include <kymo/exchange.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capture/write/destination.hpp"
#include "exchange/arrow/batches.hpp"
#include "exchange/common/selected_timeline.hpp"
#include "exchange/exporters.hpp"
#include "support/memory_destination.hpp"
#include "support/programs.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/recording_model.hpp"

namespace kymo {
namespace {

using Row = std::tuple<std::string, std::string, std::int64_t, std::int64_t, std::int64_t>;  // track, name, times, self

/// A capture in memory, and a place for exports.
class SelectedExportTest : public ::testing::Test {
 protected:
  Timeline open(std::vector<std::byte> bytes) {
    bytes_ = std::move(bytes);
    std::vector<CaptureReader> captures;
    captures.emplace_back(bytes_.data(), bytes_.size(), "memory");
    return Timeline(std::move(captures));
  }

  std::string exported(const Timeline& timeline, std::string_view word, const SelectionOptions& selection,
                       ArrowTable table = ArrowTable::spans) {
    const auto formats = exchange::exporters();
    const auto format = std::find_if(formats.begin(), formats.end(),
                                     [&](const exchange::Exporter& exporter) { return exporter.word == word; });
    const std::string path = (directory_.path() / "exported").string();
    ExportOptions options;
    options.selection = selection;
    exchange::export_timeline(*format, timeline, path, options, ProcessId{}, table);
    return test::read_file(path);
  }

  std::multiset<Row> spans_of(const Timeline& timeline, const SelectionOptions& selection) {
    std::istringstream lines(exported(timeline, "csv-spans", selection));
    std::multiset<Row> rows;
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::vector<std::string> fields;
      std::istringstream parts(line);
      for (std::string field; std::getline(parts, field, ',');) {
        fields.push_back(field);
      }
      rows.emplace(fields.at(1), fields.at(3), std::stoll(fields.at(5)), std::stoll(fields.at(6)),
                   std::stoll(fields.at(7)));
    }
    return rows;
  }

  /// Calls `check(truth, timeline)` for several recordings.
  template <typename Check>
  void with_recordings(unsigned steps, const Check& check, bool lags = false) {
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      test::ModelOptions options;
      options.seed = seed;
      options.steps = steps;
      options.closes_all = true;
      options.lags = lags;
      const test::RecordingModel model(options);
      check(model.truth(), open(model.write()));
    }
  }

  test::TemporaryDirectory directory_;

 private:
  std::vector<std::byte> bytes_;
};

bool holds(const test::TrueSpan& outer, const test::TrueSpan& inner) {
  return outer.track == inner.track && outer.depth < inner.depth && outer.start_ns <= inner.start_ns &&
         outer.end_ns >= inner.end_ns;
}

/// Self times within a range, from the truth's nesting.
std::int64_t self_within(const test::TrueRecording& truth, const test::TrueSpan& span, TimeRange range) {
  const auto inside = [&range](const test::TrueSpan& part) {
    return std::max<std::int64_t>(std::min(part.end_ns, range.end_ns) - std::max(part.start_ns, range.start_ns), 0);
  };
  std::int64_t self_ns = inside(span);
  if (span.track.find("thread") == 0) {
    for (const test::TrueSpan& inner : truth.spans) {
      if (inner.depth == span.depth + 1 && holds(span, inner)) {
        self_ns -= inside(inner);
      }
    }
  }
  return self_ns;
}

std::multiset<Row> true_rows(const test::TrueRecording& truth, TimeRange range,
                             const std::vector<std::string>& sites = {}, const std::string& track = {}) {
  const auto fits = [&sites](const test::TrueSpan& span) {
    return sites.empty() || std::find(sites.begin(), sites.end(), span.name) != sites.end();
  };
  std::multiset<Row> rows;
  for (const test::TrueSpan& span : truth.spans) {
    const bool is_inside = fits(span) || (span.track.find("thread") == 0 &&
                                          std::any_of(truth.spans.begin(), truth.spans.end(), [&](const auto& outer) {
                                            return fits(outer) && holds(outer, span);
                                          }));
    const bool reaches_into =
        span.start_ns < range.end_ns && (span.end_ns > range.start_ns || span.start_ns >= range.start_ns);
    if (is_inside && reaches_into && (track.empty() || span.track == track)) {
      const std::int64_t start_ns = std::max(span.start_ns, range.start_ns);
      rows.emplace(span.track, span.name, start_ns, std::min(span.end_ns, range.end_ns) - start_ns,
                   self_within(truth, span, range));
    }
  }
  return rows;
}

TEST_F(SelectedExportTest, SpansOfATimeAreThoseThatReachIntoItAndCutThere) {
  with_recordings(900, [this](const test::TrueRecording& truth, const Timeline& timeline) {
    const std::int64_t length_ns = truth.end_ns - truth.start_ns;
    SelectionOptions selection;
    selection.time = {truth.start_ns + length_ns / 3, truth.start_ns + length_ns / 2};
    EXPECT_EQ(spans_of(timeline, selection), true_rows(truth, selection.time));
  });
}

TEST_F(SelectedExportTest, SpansOfATimeAreThoseThatReachIntoItThoughOneThreadIsWrittenAfterAnother) {
  const auto check = [this](const test::TrueRecording& truth, const Timeline& timeline) {
    const std::int64_t length_ns = truth.end_ns - truth.start_ns;
    for (std::int64_t part = 0; part < 20; ++part) {
      SelectionOptions selection;
      selection.time = {truth.start_ns + length_ns * part / 20, truth.start_ns + length_ns * (part + 1) / 20};
      EXPECT_EQ(spans_of(timeline, selection), true_rows(truth, selection.time)) << part;
    }
  };
  with_recordings(900, check, true);
}

TEST_F(SelectedExportTest, OfASiteAllThatRanInsideItIsThereWithItsSelfTime) {
  with_recordings(700, [this](const test::TrueRecording& truth, const Timeline& timeline) {
    const std::string site = truth.spans.at(truth.spans.size() / 2).name;
    SelectionOptions selection;
    selection.sites = {site};
    EXPECT_EQ(spans_of(timeline, selection), true_rows(truth, {}, {site}));
    selection.threads = {"thread 1"};
    selection.time = {truth.start_ns + (truth.end_ns - truth.start_ns) / 4, truth.end_ns};
    EXPECT_EQ(spans_of(timeline, selection), true_rows(truth, selection.time, {site}, "thread 1"));
  });
}

TEST_F(SelectedExportTest, FramesAndSamplesOfATimeAreThoseWithinIt) {
  const test::RecordingModel model({});
  const test::TrueRecording& truth = model.truth();
  const Timeline timeline = open(model.write());
  SelectionOptions selection;
  selection.time = {truth.frame_marks.at(20), truth.frame_marks.at(60)};
  const auto rows = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n') - 1; };
  EXPECT_EQ(rows(exported(timeline, "csv-frames", selection)), 40);
  EXPECT_EQ(rows(exported(timeline, "csv-metrics", selection)),
            std::count_if(truth.samples.begin(), truth.samples.end(), [&](const auto& sample) {
              return sample.first >= selection.time.start_ns && sample.first < selection.time.end_ns;
            }));
  selection.time = {};
  selection.frames = {21, 60};
  EXPECT_EQ(rows(exported(timeline, "csv-frames", selection)), 40);
}

/// Blocks are larger in the copy, so that rows come in another order.
std::multiset<std::string> sorted_lines(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.insert(line);
  }
  return lines;
}

TEST_F(SelectedExportTest, EveryFormatOfTheWholeTimeIsTheSameAsWithoutASelection) {
  test::ModelOptions options;
  options.closes_all = true;
  const test::RecordingModel model(options);
  const Timeline timeline = open(model.write());
  SelectionOptions all;
  all.time = {timeline.range().start_ns, timeline.range().end_ns + 1};
  SelectionOptions part = all;
  part.time.end_ns = timeline.range().start_ns + 200'000;
  for (const std::string_view word : {"csv-spans", "csv-frames", "csv-metrics", "collapsed", "openmetrics", "vor"}) {
    EXPECT_EQ(sorted_lines(exported(timeline, word, all)), sorted_lines(exported(timeline, word, {}))) << word;
  }
  for (const exchange::Exporter& exporter : exchange::exporters()) {
    // Of stacks and of a machine there is nothing here.
    if (exporter.word != "pprof" && exporter.word != "firefox" && exporter.word != "nvmt" &&
        exporter.word != "openmetrics") {
      EXPECT_LT(exported(timeline, exporter.word, part).size(), exported(timeline, exporter.word, {}).size() * 3 / 4)
          << exporter.word;
    }
  }
  const std::string trace = exported(timeline, "chrome", part);
  const std::regex times(R"re("ts":([0-9]+)\.?([0-9]*))re");
  std::int64_t count = 0;
  for (std::sregex_iterator match(trace.begin(), trace.end(), times), end; match != end; ++match, ++count) {
    const std::int64_t us = std::stoll((*match)[1]);
    EXPECT_GE(us, part.time.start_ns / 1000);
    EXPECT_LE(us, part.time.end_ns / 1000);
  }
  EXPECT_GT(count, 20);
}

TEST_F(SelectedExportTest, ProcessesOfSeveralCapturesKeepTheirIdsTheirTimesAndHowTheyWereAligned) {
  test::ModelOptions here;
  here.closes_all = true;
  test::ModelOptions there = here;
  there.seed = 2;
  there.prefix = "far ";
  there.pid = 200;
  there.boot_id = "boot-2";
  there.wall_clock_offset_ns += 5000;
  std::vector<std::vector<std::byte>> bytes{test::RecordingModel(here).write(), test::RecordingModel(there).write()};
  std::vector<CaptureReader> captures;
  captures.emplace_back(bytes[0].data(), bytes[0].size(), "a");
  captures.emplace_back(bytes[1].data(), bytes[1].size(), "b");
  const Timeline whole(std::move(captures));
  SelectionOptions selection;
  selection.threads = {"far thread 0"};
  const Timeline part = exchange::copy_selected(whole, selection, nullptr);
  ASSERT_EQ(part.processes().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(part.processes()[i].declaration.pid, whole.processes()[i].declaration.pid);
    EXPECT_EQ(part.processes()[i].alignment, whole.processes()[i].alignment);
    EXPECT_EQ(part.processes()[i].offset_ns, whole.processes()[i].offset_ns);
    EXPECT_EQ(part.processes()[i].bound_ns, whole.processes()[i].bound_ns);
  }
  EXPECT_NE(part.processes()[1].offset_ns, 0);
  for (const TrackDeclaration& track : whole.tracks()) {
    const SpanList kept = part.spans(track.id);
    const SpanList all = whole.spans(track.id);
    ASSERT_EQ(kept.spans.size(), track.name == "far thread 0" ? all.spans.size() : 0) << track.name;
    for (std::size_t i = 0; i < kept.spans.size(); ++i) {
      EXPECT_EQ(kept.spans[i].start_ns, all.spans[i].start_ns);
      EXPECT_EQ(kept.spans[i].self_ns, all.spans[i].self_ns);
      EXPECT_EQ(kept.spans[i].argument_count, all.spans[i].argument_count);
    }
  }
}

/// A thread that slept from 0, worked from 1 us to 3 us, and was found so at four times; and one that was only
/// observed.
EventBatch sampled() {
  EventBatch batch;
  batch.end_ns = 4000;
  SiteDeclaration work;
  work.id = SiteId{1};
  work.name = "work";
  SiteDeclaration sleep;
  sleep.id = SiteId{2};
  sleep.name = "sleep";
  batch.declarations.sites = {work, sleep};
  batch.declarations.tracks = {{TrackId{1}, TrackKind::thread, ProcessId{1}, 5, "main"}};
  batch.declarations.threads = {{ThreadId{1}, ProcessId{1}, 100, 5, "main"},
                                {ThreadId{2}, ProcessId{1}, 100, 6, "other"}};
  batch.declarations.functions = {{FunctionId{1}, ModuleId{}, 0, "busy"}, {FunctionId{2}, ModuleId{}, 0, "idle"}};
  batch.declarations.stacks = {{StackId{1}, StackId{}, FunctionId{1}}, {StackId{2}, StackId{}, FunctionId{2}}};
  ScopeRun run;
  run.track = TrackId{1};
  run.end_sequence = 4;
  run.events = {{0, SiteId{2}, 0, 0}, {1000, {}, 0, 0}, {1000, SiteId{1}, 0, 0}, {3000, {}, 0, 0}};
  batch.runs = {run};
  batch.stack_samples = {{ThreadId{1}, StackId{2}, 0, 500, 0},    {ThreadId{1}, StackId{1}, 0, 1500, 0},
                         {ThreadId{2}, StackId{2}, 0, 1600, 0},   {ThreadId{1}, StackId{1}, 0, 2500, 0},
                         {ThreadId{2}, StackId{2}, 0, 2600, 100}, {ThreadId{2}, StackId{2}, 0, 2700, 0, 200, 1},
                         {ThreadId{1}, StackId{2}, 0, 3500, 0}};
  return batch;
}

TEST_F(SelectedExportTest, SampledStacksAreThoseOfTheTimeTheThreadAndTheSite) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  capture::CaptureWriterOptions writing;
  writing.declarations.processes.push_back({ProcessId{1}, 100, "here", "boot", "", "program"});
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(bytes), std::move(writing));
  writer.write(sampled());
  writer.finish();
  const Timeline timeline = open(*bytes);
  const auto samples = [&](const SelectionOptions& selection, exchange::StacksOf stacks = exchange::StacksOf::samples) {
    const std::string path = (directory_.path() / "stacks").string();
    ExportOptions options;
    options.selection = selection;
    const auto formats = exchange::exporters();
    exchange::export_timeline(formats[2], timeline, path, options, ProcessId{}, ArrowTable::spans, stacks);
    return test::read_file(path);
  };
  SelectionOptions selection;
  EXPECT_EQ(samples(selection), "main;busy 2\nmain;idle 2\nother;idle 1\n");
  EXPECT_EQ(samples(selection, exchange::StacksOf::waits), "other;idle 300\n")
      << "and those whose stacks were not taken";
  selection.time = {1500, 3501};
  EXPECT_EQ(samples(selection), "main;busy 2\nmain;idle 1\nother;idle 1\n");
  selection.threads = {"main"};
  EXPECT_EQ(samples(selection), "main;busy 2\nmain;idle 1\n");
  selection.time = {};
  selection.sites = {"work"};
  EXPECT_EQ(samples(selection), "main;busy 2\n");
  selection.sites = {"sleep"};
  EXPECT_EQ(samples(selection), "main;idle 1\n");
  selection.sites = {"nothing"};
  EXPECT_THROW(samples(selection), SelectionError);
}

}  // namespace
}  // namespace kymo
