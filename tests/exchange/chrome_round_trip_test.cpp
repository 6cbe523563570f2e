// A capture, exported as a Chrome trace and imported again: nothing that a trace holds is different.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <kymo/exchange.hpp>
#include <kymo/import.hpp>
#include <kymo/timeline.hpp>

#include "capture/write/capture_writer.hpp"
#include "exchange/chrome/export.hpp"
#include "support/temporary_directory.hpp"
#include "timeline/recording_model.hpp"
#include "timeline/span_text.hpp"
#include "timeline/timeline_implementation.hpp"

namespace kymo {
namespace {

using Texts = std::vector<std::string>;

/// "name 10..20 a=1 b=x": every span, without the track and depth that a trace has no room for.
Texts spans_of(const Timeline& timeline) {
  Texts texts;
  for (const TrackDeclaration& track : timeline.tracks()) {
    const SpanList list = timeline.spans(track.id);
    for (const test::TrueSpan& span : test::to_true(timeline, list)) {
      std::string text = span.name + ' ' + std::to_string(span.start_ns) + ".." + std::to_string(span.end_ns);
      Texts arguments;
      for (std::string argument : span.arguments) {
        // A second argument of a name gets a number. What a span was marked with, and its category, are arguments
        // there.
        const std::size_t mark = argument.find('#');
        if (mark != std::string::npos) {
          argument.erase(mark, argument.find('=') - mark);
        }
        if (argument.rfind("category=", 0) != 0 && argument.rfind("unbalanced=", 0) != 0) {
          arguments.push_back(argument);
        }
      }
      std::sort(arguments.begin(), arguments.end());
      for (const std::string& argument : arguments) {
        text += ' ' + argument;
      }
      texts.push_back(text);
    }
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

Texts messages_of(const Timeline& timeline) {
  Texts texts;
  for (const Message& message : timeline.messages()) {
    texts.push_back(std::to_string(message.time_ns) + ' ' + timeline.track(message.track).name + ' ' + message.text);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

Texts flows_of(const Timeline& timeline) {
  Texts texts;
  for (const FlowEvent& flow : timeline.flows()) {
    texts.push_back(std::to_string(flow.time_ns) + ' ' + std::to_string(static_cast<int>(flow.phase)) + ' ' +
                    timeline.track(flow.track).name + ' ' + std::to_string(flow.flow_id));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

Texts frames_of(const Timeline& timeline) {
  Texts texts;
  for (const FrameStreamDeclaration& stream : timeline.declarations().frame_streams) {
    for (const Frame& frame : timeline.frames(stream.id)) {
      texts.push_back(stream.name + std::to_string(frame.start_ns) + '+' + std::to_string(frame.duration_ns));
    }
  }
  return texts;
}

class RoundTrip : public ::testing::TestWithParam<bool> {};

TEST_P(RoundTrip, WhatATraceHoldsComesBackTheSame) {
  const test::TemporaryDirectory directory;
  test::ModelOptions options;
  options.closes_all = true;
  options.steps = 6000;
  const test::RecordingModel model(options);
  capture::CaptureWriter writer(directory / "first.kymo", model.writer_options());
  for (const EventBatch& batch : model.batches()) {
    writer.write(batch);
  }
  EventBatch flows;
  flows.start_ns = model.truth().start_ns;
  flows.end_ns = model.truth().end_ns;
  flows.flows = {{TrackId{1}, FlowPhase::begin, flows.start_ns, 3},
                 {TrackId{2}, FlowPhase::step, flows.start_ns + 5, 3},
                 {TrackId{1}, FlowPhase::end, flows.end_ns, 0xFFFFFFFFFFFFFFFF}};
  writer.write(flows);
  writer.finish();

  const Timeline first(directory / "first.kymo");
  const std::string trace = directory / "trace";
  const std::string capture = directory / "second.kymo";
  GetParam() ? export_perfetto_trace(first, trace) : export_chrome_trace(first, trace);
  const ImportReport report = GetParam() ? import_perfetto_trace(trace, capture) : import_chrome_trace(trace, capture);
  EXPECT_EQ(report.stopped, "");
  for (const ImportLoss& loss : report.losses) {
    EXPECT_FALSE(loss.is_damage) << loss.what;
  }
  const Timeline second(report.output);

  EXPECT_GT(spans_of(first).size(), 2000U);
  EXPECT_EQ(spans_of(second), spans_of(first));
  EXPECT_EQ(messages_of(second), messages_of(first));
  EXPECT_EQ(flows_of(second), flows_of(first));
  EXPECT_EQ(frames_of(second), frames_of(first));
  ASSERT_EQ(second.declarations().metrics.size(), first.declarations().metrics.size());
  for (const MetricDeclaration& metric : first.declarations().metrics) {
    const MetricDeclaration& other = second.metric(metric.id);
    EXPECT_EQ(other.name, metric.name);
    // Perfetto's form leaves out the unit 1.
    EXPECT_EQ(other.unit, GetParam() && metric.unit == "1" ? "" : metric.unit);
    EXPECT_EQ(other.labels, metric.labels);
    EXPECT_EQ(second.series(metric.id).times_ns, first.series(metric.id).times_ns);
    EXPECT_EQ(second.series(metric.id).values, first.series(metric.id).values);
  }
  ASSERT_EQ(second.sync_points().size(), first.sync_points().size());
  for (std::size_t i = 0; i < first.sync_points().size(); ++i) {
    EXPECT_EQ(second.sync_points()[i].number, first.sync_points()[i].number);
    EXPECT_EQ(second.sync_points()[i].time_ns, first.sync_points()[i].time_ns);
  }
  const auto dropped = [](const Timeline& timeline) {
    std::uint64_t count = 0;
    for (const TrackTotals& track : timeline.totals()) {
      count += track.dropped_scopes;
    }
    return count;
  };
  EXPECT_EQ(second.range().start_ns, first.range().start_ns);
  EXPECT_EQ(second.range().end_ns, first.range().end_ns);
  EXPECT_EQ(dropped(first), model.truth().dropped_scopes);
  EXPECT_EQ(dropped(second), dropped(first));
  EXPECT_EQ(second.processes()[0].declaration.pid, first.processes()[0].declaration.pid);
}

TEST(DamagedPerfettoTrace, NeverBreaksTheImport) {
  const test::TemporaryDirectory directory;
  test::ModelOptions options;
  options.steps = 60;
  const test::RecordingModel model(options);
  capture::CaptureWriter writer(directory / "first.kymo", model.writer_options());
  for (const EventBatch& batch : model.batches()) {
    writer.write(batch);
  }
  writer.finish();
  export_perfetto_trace(Timeline(directory / "first.kymo"), directory / "trace");
  std::ifstream file(directory / "trace", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::mt19937 random(5);
  std::size_t damaged = 0;
  for (int i = 0; i < 60; ++i) {
    std::string trace = whole;
    for (int change = 0; change < 1 + i / 6; ++change) {
      trace[random() % trace.size()] = static_cast<char>(random());
    }
    trace.resize(i % 2 == 0 ? trace.size() : random() % trace.size());
    std::ofstream(directory / "damaged", std::ios::binary) << trace;
    try {
      const ImportReport report = import_perfetto_trace(directory / "damaged", directory / "damaged.kymo");
      EXPECT_TRUE(Timeline(report.output).complaints().empty());
      damaged += report.is_damaged() ? 1U : 0U;
      std::filesystem::remove(report.output);
    } catch (const ImportError& error) {
      EXPECT_NE(std::string(error.what()).find("no Perfetto trace: byte"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(damaged, 20U);
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, ::testing::Values(false, true),
                         [](const auto& format) { return format.param ? "Perfetto" : "Chrome"; });

// Different are only "scope" where there was no cat, and the number of an argument that has that name too.
TEST(ChromeRoundTrip, CategoriesStayWhatTheyWere) {
  const test::TemporaryDirectory directory;
  const std::string head = R"({"name":"n","cat":")";
  std::ofstream(directory / "first.json")
      << "[" << head << R"(a,\"b\"","ph":"X","ts":1,"dur":9,"pid":1,"tid":1,"args":{"x":1}},)" << head
      << R"(inner","ph":"X","ts":2,"dur":3,"pid":1,"tid":1},)" << head
      << R"(bare","ph":"B","ts":6,"pid":1,"tid":1},{"ph":"E","ts":7,"pid":1,"tid":1},)" << head
      << R"(function","ph":"X","ts":20,"dur":1,"pid":1,"tid":1,"args":{"category":"mine"}},)" << head
      << R"(own","ph":"X","ts":30,"dur":1,"pid":1,"tid":1,"args":{"x":true,"category":"mine"}}])";
  import_chrome_trace(directory / "first.json", directory / "first.kymo");
  export_chrome_trace(Timeline(directory / "first.kymo"), directory / "second.json");
  std::ifstream file(directory / "second.json");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const char* const event :
       {R"("cat":"a,\"b\"","ph":"X","ts":1.000,"dur":9.000,"pid":1,"tid":1,"args":{"x":1}})",
        R"("cat":"inner","ph":"X","ts":2.000,"dur":3.000,"pid":1,"tid":1})",
        R"("cat":"bare","ph":"X","ts":6.000,"dur":1.000,"pid":1,"tid":1})",
        R"("cat":"function","ph":"X","ts":20.000,"dur":1.000,"pid":1,"tid":1,"args":{"category":"mine"}})",
        R"("cat":"own","ph":"X","ts":30.000,"dur":1.000,"pid":1,"tid":1,"args":{"x":true,"category#2":"mine"}})"}) {
    EXPECT_NE(text.find(event), std::string::npos) << event << "\n" << text;
  }
}

}  // namespace
}  // namespace kymo
