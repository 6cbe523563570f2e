// From captures to .vor streams and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <kymo/exchange.hpp>
#include <kymo/import.hpp>
#include <kymo/timeline.hpp>

#include "capture/write/capture_writer.hpp"
#include "exchange/vor/columns.hpp"
#include "exchange/vor/import.hpp"
#include "support/memory_destination.hpp"
#include "support/scope_model.hpp"
#include "support/temporary_directory.hpp"
#include "vor_fixture.hpp"

namespace kymo::exchange {
namespace {

using kymo::test::TemporaryDirectory;
using test::declaration;
using test::flame_part;
using test::frame;
using test::header;
using test::scope;

constexpr std::int64_t ms = 1'000'000;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr const char* degrees =
    "\xC2\xB0"
    "C";
using Strings = std::vector<std::string>;

/// Opens a capture of batches.
Timeline open_batches(const Declarations& declarations, const std::vector<EventBatch>& batches) {
  static std::vector<std::shared_ptr<std::vector<std::byte>>> kept;
  kept.push_back(std::make_shared<std::vector<std::byte>>());
  capture::CaptureWriterOptions options;
  options.declarations = declarations;
  capture::CaptureWriter writer(std::make_unique<capture::MemoryDestination>(kept.back()), std::move(options));
  for (const EventBatch& batch : batches) {
    writer.write(batch);
  }
  writer.finish();
  std::vector<CaptureReader> captures;
  captures.emplace_back(kept.back()->data(), kept.back()->size(), "memory");
  return Timeline(std::move(captures));
}

/// What a stream holds, flame parts as they are.
struct Content {
  std::vector<VorColumn> columns;
  std::vector<std::vector<double>> system;
  std::vector<std::map<std::string, double>> user;
  std::vector<std::size_t> flame_sizes;
};

Content read_content(const std::string& path) {
  VorReader reader(path);
  Content content;
  content.columns = reader.header().columns;
  for (VorFrame found; reader.next(found);) {
    content.system.push_back(found.system);
    auto& values = content.user.emplace_back();
    for (const VorValue& value : found.user) {
      const auto& columns = reader.user_columns();
      const auto column = std::find_if(columns.begin(), columns.end(),
                                       [&](const auto& candidate) { return candidate.first == value.column; });
      values[column->second.name + ":" + column->second.unit] = value.value;
    }
    content.flame_sizes.push_back(found.flame.size());
  }
  EXPECT_EQ(reader.damage().records + reader.damage().torn_bytes, 0U);
  return content;
}

using SeenSpan = std::tuple<std::string, std::int64_t, std::int64_t, unsigned, std::string>;

/// All closed scopes with their track's name, sorted.
std::vector<SeenSpan> spans_of(const Timeline& timeline) {
  std::vector<SeenSpan> spans;
  for (const TrackDeclaration& track : timeline.tracks()) {
    for (const Span& span : timeline.spans(track.id).spans) {
      if ((span.flags & Span::open) == 0) {
        spans.emplace_back(track.name, span.start_ns, span.end_ns(), unsigned{span.depth},
                           std::string(timeline.name_of(span)));
      }
    }
  }
  std::sort(spans.begin(), spans.end());
  return spans;
}

std::vector<std::int64_t> frame_ends(const Timeline& timeline) {
  std::vector<std::int64_t> ends;
  for (const Frame& found : timeline.frames(FrameStreamId{1})) {
    ends.push_back(found.start_ns + found.duration_ns);
  }
  return ends;
}

class VorMapping : public ::testing::Test {
 protected:
  VorImportReport import_file(const std::string& from, const std::string& to) const {
    VorReader reader(directory_ / from);
    return import_vor(reader, directory_ / to);
  }
  VorImportReport import_bytes(const std::string& bytes) const {
    std::ofstream(directory_ / "stream.vor", std::ios::binary) << bytes;
    return import_file("stream.vor", "imported.kymo");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

 private:
  TemporaryDirectory directory_;
};

Declarations main_declarations() {
  Declarations declarations;
  declarations.processes.emplace_back().id = ProcessId{1};
  declarations.frame_streams.push_back({FrameStreamId{1}, ProcessId{1}, ""});
  declarations.tracks.push_back({TrackId{1}, TrackKind::thread, ProcessId{1}, 1, "main"});
  return declarations;
}

TEST_F(VorMapping, ScopesThatGoOnFromFrameToFrameComeBackWhole) {
  Declarations declarations = main_declarations();
  declarations.tracks.push_back({TrackId{2}, TrackKind::thread, ProcessId{1}, 2, "worker"});
  declarations.tracks.push_back({TrackId{3}, TrackKind::thread, ProcessId{1}, 3, "worker"});
  for (std::uint32_t id = 1; id <= 12; ++id) {
    SiteDeclaration& site = declarations.sites.emplace_back();
    site.id = SiteId{id};
    site.kind = id % 2 == 0 ? SiteKind::function : SiteKind::scope;
    site.name = "site " + std::to_string(id);
  }
  kymo::test::ScopeModel model(7);
  std::vector<EventBatch> batches;
  for (int i = 0; i < 6; ++i) {
    EventBatch batch = model.next(400);
    // Marks between events, at events, and two at one time.
    for (const std::size_t at : {50U, 120U, 300U, 300U, 399U}) {
      batch.frame_marks.push_back(
          {FrameStreamId{1}, TrackId{1}, batch.runs[0].events[at].time_ns + static_cast<std::int64_t>(at % 2)});
      batch.end_ns = std::max(batch.end_ns, batch.frame_marks.back().time_ns);
    }
    batches.push_back(batch);
  }
  const std::int64_t end_ns = batches.back().end_ns;
  batches.back().frame_marks.push_back({FrameStreamId{1}, TrackId{1}, end_ns});
  const Timeline original = open_batches(declarations, batches);
  const VorExportReport exported = export_vor(original, path("a.vor"));
  EXPECT_EQ(exported.losses, Strings());
  EXPECT_EQ(exported.frames, 31U);

  const VorImportReport imported = import_file("a.vor", "b.kymo");
  EXPECT_EQ(imported.losses, Strings());
  EXPECT_EQ(imported.frames, exported.frames);
  const ImportReport by_name = kymo::import_vor(path("a.vor"), path("named.kymo"));
  EXPECT_EQ(by_name.output, path("named.kymo"));
  EXPECT_EQ(by_name.frames, imported.frames);
  EXPECT_EQ(by_name.spans, imported.scopes);
  EXPECT_FALSE(by_name.is_damaged());
  EXPECT_THROW(kymo::import_vor(path("none.vor"), path("none.kymo")), ImportError);

  const Timeline back(path("b.kymo"));
  EXPECT_EQ(frame_ends(back), frame_ends(original));
  // Those that were open at the end have ended there.
  std::vector<SeenSpan> expected = spans_of(original);
  for (const Span& span : original.open_spans().spans) {
    expected.emplace_back(original.track(span.track).name, span.start_ns, end_ns, unsigned{span.depth},
                          std::string(original.name_of(span)));
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(spans_of(back), expected);
  EXPECT_EQ(imported.scopes, expected.size());
  EXPECT_GT(exported.scopes, expected.size() + 60) << "none was cut";

  static_cast<void>(export_vor(back, path("c.vor")));
  const Content first = read_content(path("a.vor"));
  const Content second = read_content(path("c.vor"));
  EXPECT_EQ(second.system, first.system);
  EXPECT_EQ(second.flame_sizes.size(), first.flame_sizes.size());
}

MetricDeclaration metric(std::uint32_t id, const char* name, const char* unit) {
  MetricDeclaration declaration;
  declaration.id = MetricId{id};
  declaration.name = name;
  declaration.unit = unit;
  return declaration;
}

TEST_F(VorMapping, MetricsBecomeColumnsInTheUnitsOfVor) {
  Declarations declarations = main_declarations();
  declarations.metrics = {metric(1, "loss", "nats"),   metric(2, "gpu_mem", "B"),  metric(3, "gpu_temp", "C"),
                          metric(4, "gpu_util", "%"),  metric(5, "gpu_util", "%"), metric(6, "pcie", "B/s"),
                          metric(7, "gpu_clock", "x"), metric(8, "loss", "nats")};
  declarations.metrics[3].labels = {{"gpu", "0"}};
  declarations.metrics[4].labels = {{"gpu", "1"}, {"uuid", "a b"}};
  EventBatch batch;
  batch.end_ns = 100 * ms;
  for (const std::int64_t time_ns : {10 * ms, 12 * ms, 15 * ms}) {
    batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, time_ns});
  }
  batch.samples.push_back({MetricId{1}, {10 * ms, 10 * ms + 1, 11 * ms, 20 * ms}, {1, 2, 3, 4}, {}});
  batch.samples.push_back({MetricId{2}, {11 * ms}, {1'234'567'890}, {}});
  batch.samples.push_back({MetricId{3}, {9 * ms, 14 * ms}, {45.5, nan}, {}});
  batch.samples.push_back({MetricId{4}, {1 * ms, 13 * ms}, {50, 60}, {}});
  batch.samples.push_back({MetricId{5}, {14 * ms}, {7}, {}});
  batch.samples.push_back({MetricId{6}, {15 * ms}, {2'500'000}, {}});
  batch.samples.push_back({MetricId{7}, {15 * ms}, {8}, {}});
  batch.samples.push_back({MetricId{8}, {15 * ms}, {9}, {}});
  const VorExportReport report = export_vor(open_batches(declarations, {batch}), path("a.vor"));
  EXPECT_EQ(report.losses, (Strings{"1 samples, where their frame has a later one of the same metric",
                                    "1 metrics' samples behind the last frame mark"}));
  const Content content = read_content(path("a.vor"));
  std::vector<std::string> names;
  for (const VorColumn& column : content.columns) {
    names.push_back(column.name + ":" + column.unit);
  }
  EXPECT_EQ(names,
            (Strings{"frame_ms:ms", "gpu_util:%", "pcie:MB/s", "gpu_mem:MB", std::string("gpu_temp:") + degrees}));
  ASSERT_EQ(content.system.size(), 3U);
  // NaN until there is a value; then the last one known, and NaN where that could not be read.
  const double expected[3][5] = {
      {0, 50, nan, nan, 45.5}, {2, 50, nan, 1234.56789, 45.5}, {3, 60, 2.5, 1234.56789, nan}};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t i = 0; i < 5; ++i) {
      const double found = content.system[row][i];
      EXPECT_TRUE(found == expected[row][i] || (std::isnan(found) && std::isnan(expected[row][i])))
          << row << ' ' << i << ' ' << found;
    }
  }
  EXPECT_EQ(content.user[0], (std::map<std::string, double>{{"loss:nats", 1}}));
  EXPECT_EQ(content.user[1], (std::map<std::string, double>{{"loss:nats", 3}}));
  EXPECT_EQ(content.user[2], (std::map<std::string, double>{
                                 {"gpu_util{gpu=1,uuid=a b}:%", 7}, {"gpu_clock:x", 8}, {"loss #2:nats", 9}}));

  static_cast<void>(import_file("a.vor", "b.kymo"));
  const Timeline back(path("b.kymo"));
  const auto& metrics = back.declarations().metrics;
  const auto labelled =
      std::find_if(metrics.begin(), metrics.end(), [](const MetricDeclaration& at) { return !at.labels.empty(); });
  ASSERT_NE(labelled, metrics.end());
  EXPECT_EQ(labelled->name, "gpu_util");
  EXPECT_EQ(labelled->labels, declarations.metrics[4].labels);
  // Without scopes the first mark is at 0.
  EXPECT_EQ(back.series(labelled->id).times_ns, std::vector<std::int64_t>{5 * ms});
}

TEST_F(VorMapping, FrameTimesHaveOneColumnAndNoNameComesTwice) {
  Declarations declarations = main_declarations();
  const auto metric = [](std::uint32_t id, const char* name, const char* unit) {
    MetricDeclaration declaration;
    declaration.id = MetricId{id};
    declaration.name = name;
    declaration.unit = unit;
    return declaration;
  };
  declarations.metrics = {metric(1, "frame_ms", "ms"), metric(2, "frame_ms", "s"), metric(3, "memory_mb", "MB"),
                          metric(4, "memory_mb", "pages")};
  EventBatch batch;
  batch.end_ns = 100 * ms;
  batch.frame_marks = {{FrameStreamId{1}, TrackId{1}, 10 * ms}, {FrameStreamId{1}, TrackId{1}, 12 * ms}};
  for (std::uint32_t id = 1; id <= 4; ++id) {
    batch.samples.push_back({MetricId{id}, {12 * ms}, {static_cast<double>(id)}, {}});
  }
  EXPECT_EQ(export_vor(open_batches(declarations, {batch}), path("a.vor")).losses, Strings());
  const Content content = read_content(path("a.vor"));
  ASSERT_EQ(content.columns.size(), 2U);
  EXPECT_EQ(content.system.at(1), (std::vector<double>{2, 3}));
  EXPECT_EQ(content.user.at(1), (std::map<std::string, double>{{"frame_ms #2:s", 2}, {"memory_mb #2:pages", 4}}));
}

TEST_F(VorMapping, ArgumentsBecomeTextAndTextAnArgument) {
  Declarations declarations = main_declarations();
  declarations.names = {{NameId{1}, "objects"}, {NameId{2}, "data"}, {NameId{3}, "mode"}};
  SiteDeclaration site;
  site.id = SiteId{1};
  site.name = "cull";
  declarations.sites = {site};
  EventBatch batch;
  batch.end_ns = 10;
  batch.frame_marks.push_back({FrameStreamId{1}, TrackId{1}, 10});
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  run.end_sequence = 9;
  run.events = {{1, SiteId{1}, 0, 0}, {2, {}, 0, 0}, {3, SiteId{1}, 0, 0},
                {4, SiteId{1}, 1, 0}, {5, {}, 1, 0}, {6, {}, 0, 0}};
  ArgumentValue number;
  number.name = NameId{1};
  number.bits = 42;
  ArgumentValue text;
  text.name = NameId{2};
  text.type = ArgumentType::string;
  text.text_size = 9;
  batch.text = "image.png" + std::string(200, 'x');
  ArgumentValue mode = text;
  mode.name = NameId{3};
  mode.bits = 9;
  mode.text_size = 200;
  run.arguments = {{1, text}, {3, number}, {4, text}, {5, mode}};
  const VorExportReport exported = export_vor(open_batches(declarations, {batch}), path("a.vor"));
  EXPECT_EQ(exported.losses, Strings{"1 scopes' arguments beyond 127 bytes of text"});
  static_cast<void>(import_file("a.vor", "b.kymo"));
  const Timeline back(path("b.kymo"));
  const SpanList found = back.spans(TrackId{1});
  Strings texts;
  for (const Span& span : found.spans) {
    ASSERT_EQ(span.argument_count, 1U);
    EXPECT_EQ(back.name(found.arguments[span.first_argument].name), "data");
    texts.emplace_back(found.text_of(found.arguments[span.first_argument]));
  }
  const std::string cut = "objects=42, mode=" + std::string(107, 'x') + "\xE2\x80\xA6";
  EXPECT_EQ(texts, (Strings{"image.png", cut, "image.png"}));
}

TEST_F(VorMapping, TextThatLooksLikeTheMarkOfAnOtherHalfJoinsNothing) {
  Declarations declarations = main_declarations();
  declarations.names = {{NameId{1}, "data"}};
  SiteDeclaration site;
  site.id = SiteId{1};
  site.name = "cull";
  declarations.sites = {site};
  EventBatch batch;
  batch.end_ns = 20;
  batch.frame_marks = {{FrameStreamId{1}, TrackId{1}, 10}, {FrameStreamId{1}, TrackId{1}, 20}};
  batch.text = "\xE2\x80\xA6";
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  run.end_sequence = 5;
  // One ends at the mark, and the next of its site begins there.
  run.events = {{1, SiteId{1}, 0, 0}, {10, {}, 0, 0}, {10, SiteId{1}, 0, 0}, {15, {}, 0, 0}};
  ArgumentValue text;
  text.name = NameId{1};
  text.type = ArgumentType::string;
  text.text_size = static_cast<std::uint32_t>(batch.text.size());
  run.arguments = {{3, text}};
  EXPECT_EQ(export_vor(open_batches(declarations, {batch}), path("a.vor")).losses, Strings());
  EXPECT_EQ(import_file("a.vor", "b.kymo").scopes, 2U);
  const Timeline back(path("b.kymo"));
  const SpanList found = back.spans(TrackId{1});
  ASSERT_EQ(found.spans.size(), 2U);
  EXPECT_EQ(found.spans[0].duration_ns, 9);
  ASSERT_EQ(found.spans[1].argument_count, 1U);
  EXPECT_EQ(found.text_of(found.arguments[found.spans[1].first_argument]), "data=\xE2\x80\xA6");
}

TEST_F(VorMapping, MarksMayStandInLaterBlocksThanWhatCameAfterThem) {
  Declarations declarations = main_declarations();
  declarations.tracks.push_back({TrackId{2}, TrackKind::thread, ProcessId{1}, 2, "worker"});
  declarations.sites.emplace_back().id = SiteId{1};
  declarations.sites.back().name = "job";
  std::vector<EventBatch> batches(3);
  batches[0].end_ns = 100;
  ScopeRun& run = batches[0].runs.emplace_back();
  run.track = TrackId{2};
  run.end_sequence = 6;
  run.events = {{5, SiteId{1}, 0, 0}, {20, {}, 0, 0},        {30, SiteId{1}, 0, 0},
                {40, {}, 0, 0},       {45, SiteId{1}, 0, 0}, {90, {}, 0, 0}};
  batches[1].end_ns = 100;
  batches[2] = {};
  batches[2].start_ns = 10;
  batches[2].end_ns = 100;
  batches[2].frame_marks = {
      {FrameStreamId{1}, TrackId{1}, 10}, {FrameStreamId{1}, TrackId{1}, 50}, {FrameStreamId{1}, TrackId{1}, 100}};
  const Timeline original = open_batches(declarations, batches);
  const VorExportReport exported = export_vor(original, path("a.vor"));
  EXPECT_EQ(exported.losses, Strings());
  EXPECT_EQ(exported.scopes, 5U);
  static_cast<void>(import_file("a.vor", "b.kymo"));
  const Timeline back(path("b.kymo"));
  EXPECT_EQ(spans_of(back), spans_of(original));
  EXPECT_EQ(frame_ends(back), (std::vector<std::int64_t>{50, 100}));
}

TEST_F(VorMapping, WhatAStreamHasNoPlaceForIsTold) {
  Declarations declarations = main_declarations();
  declarations.tracks.push_back({TrackId{2}, TrackKind::queue, ProcessId{1}, 0, "gpu"});
  declarations.frame_streams.push_back({FrameStreamId{2}, ProcessId{1}, "physics"});
  declarations.names = {{NameId{1}, "copy"}};
  SiteDeclaration site;
  site.id = SiteId{1};
  declarations.sites = {site};
  EventBatch batch;
  batch.end_ns = 10;
  batch.frame_marks = {{FrameStreamId{1}, TrackId{1}, 5}, {FrameStreamId{2}, TrackId{1}, 6}};
  batch.spans.push_back({TrackId{2}, NameId{1}, {}, 0, 0, 1, 2, 0});
  batch.messages.push_back({TrackId{1}, false, 3, "hello"});
  batch.flows.push_back({TrackId{1}, FlowPhase::begin, 3, 9});
  batch.sync_points.push_back({1, TrackId{1}, 4});
  ScopeRun& run = batch.runs.emplace_back();
  run.track = TrackId{1};
  run.end_sequence = 2;
  run.events = {{7, SiteId{1}, 0, 0}, {8, {}, 0, 0}};
  const VorExportReport report = export_vor(open_batches(declarations, {batch}), path("a.vor"));
  EXPECT_EQ(report.losses,
            (Strings{"1 scopes behind the last frame mark", "1 frame marks of other streams",
                     "1 async spans and spans of queues", "1 messages", "1 points of flows", "1 sync points"}));
}

TEST_F(VorMapping, CaptureWithoutFramesIsRefusedAndNothingIsWritten) {
  Declarations declarations = main_declarations();
  EXPECT_THROW(static_cast<void>(export_vor(open_batches(declarations, {}), path("a.vor"))), VorError);
  declarations.frame_streams.clear();
  EXPECT_THROW(static_cast<void>(export_vor(open_batches(declarations, {}), path("a.vor"))), VorError);
  EXPECT_FALSE(std::filesystem::exists(path("a.vor")));
}

TEST_F(VorMapping, MarksOfAnImportLieWhereNoFrameEndsBeforeItsScopes) {
  const std::string bytes =
      header({{"frame_ms", "ms"}}, true) + frame({0}, {}, flame_part({0, 1000, 2000}, scope(1, 1000, 2000))) +
      frame({0.003}, {}, flame_part({1, 3000, 5500}, scope(2, 3000, 5500))) +
      frame({0.001}, {}, flame_part({1, 3000, 5500}, scope(2, 3000, 5500))) +  // no scopes: the same once more
      frame({0.002});
  const VorImportReport report = import_bytes(bytes);
  EXPECT_EQ(report.losses, Strings());
  EXPECT_EQ(report.scopes, 2U);
  const Timeline back(path("imported.kymo"));
  EXPECT_EQ(frame_ends(back), (std::vector<std::int64_t>{5500, 6500, 8500}));
  EXPECT_EQ(spans_of(back), (std::vector<SeenSpan>{{"main", 1000, 2000, 0, "work"}, {"main", 3000, 5500, 0, "load"}}));
  const SiteDeclaration& work = back.site(SiteId{1});
  EXPECT_EQ(work.function, "run()");
  EXPECT_EQ(work.file, "a.cpp");
  EXPECT_EQ(work.line, 300U);
  EXPECT_EQ(back.site(SiteId{2}).kind, SiteKind::function);
}

TEST_F(VorMapping, TimesThatMakeNoSenseAreCountedAndTheRestIsKept) {
  const std::string stream = scope(1, 1000, 4000, scope(2, 500, 1500) + scope(2, 1500, 3000)) +  // begins too early
                             scope(1, 5000, 5500, scope(2, 5100, 5600)) +                        // ends too early
                             scope(1, std::numeric_limits<std::int64_t>::max(), 0) + scope(2, 6000, 6100) + "what";
  const std::string bytes = header({{"frame_ms", "ms"}}, true) +
                            frame({nan}, {}, flame_part({0, 1000, 9000, 7, 2}, stream)) + frame({-1}) + frame({1e300}) +
                            frame({0.00025}) + frame({1e-9}) + frame({1}, {}, "PFD3....") + "torn";
  const VorImportReport report = import_bytes(bytes);
  EXPECT_EQ(
      report.losses,
      (Strings{"4 bytes behind the last whole record",
               "3 durations of frames that make no sense: these frames take no time",
               "1 durations of frames below a nanosecond", "1 flame parts that are damaged or of another version",
               "1 threads' scopes behind damage in them", "2 scopes whose times go back, with what is inside them",
               "1 ends of scopes that lie before what is inside them"}));
  const Timeline back(path("imported.kymo"));
  EXPECT_EQ(spans_of(back), (std::vector<SeenSpan>{{"main", 1000, 4000, 0, "work"},
                                                   {"main", 1500, 3000, 1, "load"},
                                                   {"main", 5000, 5600, 0, "work"},
                                                   {"main", 5100, 5600, 1, "load"},
                                                   {"main", 6000, 6100, 0, "load"}}));
  EXPECT_EQ(frame_ends(back), (std::vector<std::int64_t>{9000, 9000, 9250, 9250, 9250 + ms}));
}

TEST_F(VorMapping, StreamWithoutTimesOrFramesIsRefused) {
  const auto refusal = [this](const std::string& bytes) -> std::string {
    try {
      static_cast<void>(import_bytes(bytes));
      return "not refused";
    } catch (const VorError& error) {
      return std::string(error.what()).substr(path("stream.vor").size());
    }
  };
  EXPECT_EQ(refusal(header({{"gpu_util", "%"}}) + frame({1})),
            ": it has no column frame_ms, so nobody knows when its frames were");
  EXPECT_EQ(refusal(header({{"frame_ms", "ms"}})), ": it holds no frame");
  EXPECT_EQ(refusal(header({{"frame_ms", "ms"}}) + "123"), ": it holds no frame; it is cut off");
}

TEST_F(VorMapping, EveryByteMayBeWrong) {
  const std::string stream = scope(1, 1000, 2000, scope(2, 1000, 1500, "", "text"));
  const std::string bytes = header({{"frame_ms", "ms"}, {"io_ms", "ms"}}, true) + declaration(2, "a{b=c}", "x") +
                            frame({0, 1}, {{2, 3}}, flame_part({0, 1000, 2000, 2, 2}, stream)) + frame({1, 2});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {1, 0x80}) {
      std::string wrong = bytes;
      wrong[i] = static_cast<char>(wrong[i] ^ change);
      try {
        VorReader reader = test::reader_of(wrong);
        const VorImportReport report = import_vor(reader, path("wrong.kymo"));
        static_cast<void>(Timeline(report.output));
        std::filesystem::remove(report.output);
      } catch (const VorError&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace kymo::exchange
