// kymo stats: parts of a recording, the call tree, slowest frames, phases, sketches, and metrics beside sites.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <regex>
#include <utility>

#include "command_fixture.hpp"
#include "stats/power_recording.hpp"
#include "support/flight_recording.hpp"

namespace kymo::test {
namespace {

using Json = nlohmann::json;

class StatsViews : public CommandTest {
 protected:
  /// Five frames of 100 ms and a slow one of 300 ms, in which "load" takes 200 ms; 20 W, 80 W from 500 ms on; memory
  /// grows by a megabyte every 10 ms; the second phase begins with the slow frame.
  std::string make_views_capture() const {
    PowerRecording recording;
    recording.open(0, TrackId{1}, "loop");
    for (std::int64_t i = 0; i < 5; ++i) {
      recording.frame_mark(100 * i * ms);
      recording.scope((100 * i + 10) * ms, (100 * i + 40) * ms, TrackId{1}, "draw");
    }
    recording.frame_mark(500 * ms);
    recording.sync_point(5 * ms);
    recording.sync_point(500 * ms);
    recording.scope(510 * ms, 540 * ms, TrackId{1}, "draw");
    recording.scope(550 * ms, 750 * ms, TrackId{1}, "load");
    recording.frame_mark(800 * ms);
    recording.scope(600 * ms, 640 * ms, TrackId{2}, "stream");
    recording.close(900 * ms, TrackId{1});
    MetricSeries power;
    MetricSeries memory;
    for (std::int64_t time_ms = 0; time_ms <= 1000; time_ms += 10) {
      power.times_ns.push_back(time_ms * ms);
      power.values.push_back(time_ms < 500 ? 20 : 80);
      memory.times_ns.push_back(time_ms * ms);
      memory.values.push_back(static_cast<double>(time_ms) * 1e5);
    }
    recording.metric(power_metric("board_power", {}), power);
    MetricDeclaration rss;
    rss.name = "process_rss";
    rss.unit = "B";
    recording.metric(rss, memory);
    const auto bytes = recording.make_capture(4);
    write("views.kymo", bytes);
    return "views.kymo";
  }

  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    std::ofstream(file_named(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  Json json_of(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"stats", "--json"});
    const CommandResult result = kymo(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }
};

const Json& row_named(const Json& rows, const std::string& name) {
  for (const Json& row : rows) {
    if (row["name"] == name) {
      return row;
    }
  }
  static const Json none;
  ADD_FAILURE() << name << " is not in " << rows;
  return none;
}

TEST_F(StatsViews, OfTheMachineAloneNeitherCoresNorConstantsFillTheFirstScreen) {
  PowerRecording recording;
  const auto add = [&recording](const char* name, std::vector<std::pair<std::string, std::string>> labels,
                                double last) {
    MetricDeclaration metric;
    metric.name = name;
    metric.unit = "%";
    metric.labels = std::move(labels);
    metric.source = "test";
    recording.metric(metric, {{0, second}, {1, last}, {0, 0}});
  };
  add("cpu_util", {}, 50);
  add("cpu_util", {{"core", "0"}}, 60);
  add("gpu_util", {}, 1);
  write("machine.kymo", recording.make_capture(4));
  const std::string brief = kymo({"stats", "machine.kymo"}).out;
  EXPECT_NE(brief.find("\ncpu_util "), std::string::npos) << brief;
  EXPECT_EQ(brief.find("cpu_util core=0"), std::string::npos) << brief;
  EXPECT_EQ(brief.find("gpu_util"), std::string::npos) << brief;
  EXPECT_NE(brief.find("... and 2 metrics more, of single cores or constant; --metrics shows all"), std::string::npos)
      << brief;
  const std::string all = kymo({"stats", "--metrics", "machine.kymo"}).out;
  EXPECT_NE(all.find("cpu_util core=0"), std::string::npos) << all;
  EXPECT_NE(all.find("gpu_util"), std::string::npos) << all;
}

TEST_F(StatsViews, RangesThatMakeNoSenseAreUsageErrors) {
  const std::string capture = make_views_capture();
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{"--frames", "5..2"},
                                                                                     {"--frames", ".."},
                                                                                     {"--frames", "a..b"},
                                                                                     {"--frames", "1..2..3"},
                                                                                     {"--frames", "-1..4"},
                                                                                     {"--frames", "0..4"},
                                                                                     {"--time", "2s..1s"},
                                                                                     {"--time", "1s..1s"},
                                                                                     {"--time", "5"},
                                                                                     {"--time", "1s..2x"},
                                                                                     {"--time", "nan..2s"},
                                                                                     {"--phase", "last"},
                                                                                     {"--tree", "--phases"},
                                                                                     {"--slowest-frames", "0"},
                                                                                     {"--tree", "--energy"},
                                                                                     {"--energy", "--site", "x"},
                                                                                     {"--min-share", "1"},
                                                                                     {"--tree", "--histogram"}}) {
    std::vector<std::string> arguments{"stats", capture};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const CommandResult result = kymo(arguments);
    EXPECT_EQ(result.status, 2) << wrong[0] << " " << wrong.back();
    EXPECT_EQ(result.out, "");
    EXPECT_NE(result.err, "");
  }
}

TEST_F(StatsViews, WhatIsNotThereIsAnErrorThatSaysWhatIs) {
  const std::string capture = make_views_capture();
  const std::vector<std::pair<std::vector<std::string>, std::string>> missing{
      {{"--site", "drew"}, "there are: loop, draw, load, stream"},
      {{"--thread", "nobody"}, "there are: thread, gpu"},
      {{"--frames", "7.."}, "it has 6 frames"},
      {{"--phase", "7"}, "there are: 1, 2"},
      {{"--with", "joy"}, "there are: board_power, process_rss"}};
  for (const auto& [wrong, message] : missing) {
    std::vector<std::string> arguments{"stats", capture};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const CommandResult result = kymo(arguments);
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
  }
}

TEST_F(StatsViews, PartsOfTheRecordingAreCountedAlone) {
  const std::string capture = make_views_capture();
  const Json frames = json_of({"--frames", "1..2", capture});
  EXPECT_EQ(row_named(frames["sites"], "draw")["total_ns"], 60 * ms);
  EXPECT_EQ(row_named(frames["sites"], "loop")["total_ns"], 200 * ms);
  EXPECT_EQ(frames["frame_streams"][0]["count"], 2);
  const Json time = json_of({"--time", "0.52s..", "--site", "d*", capture});
  ASSERT_EQ(time["sites"].size(), 1U);
  EXPECT_EQ(time["sites"][0]["total_ns"], 20 * ms);
  const Json phase = json_of({"--phase", "2", "--site", "load", capture});
  EXPECT_EQ(phase["sites"][0]["total_ns"], 200 * ms);
}

TEST_F(StatsViews, TheTreeHasSharesOfItsTime) {
  const std::string capture = make_views_capture();
  const Json json = json_of({"--tree", capture});
  EXPECT_EQ(json["total_ns"], 940 * ms);
  ASSERT_EQ(json["tree"].size(), 4U);
  EXPECT_EQ(json["tree"][0]["name"], "loop");
  EXPECT_EQ(json["tree"][0]["self_ns"], 520 * ms);
  EXPECT_EQ(json["tree"][1]["name"], "load");
  EXPECT_EQ(json["tree"][1]["parent"], 0);
  EXPECT_EQ(json["tree"][2]["name"], "draw");
  EXPECT_EQ(json["tree"][2]["count"], 6);
  EXPECT_DOUBLE_EQ(json["tree"][2]["share"].get<double>(), 180.0 / 940);
  EXPECT_EQ(json["tree"][3]["depth"], 0);
  const CommandResult text = kymo({"stats", "--tree", "--top", "1", capture});
  EXPECT_NE(text.out.find("\n  load"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("draw"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("... and 2 rows more"), std::string::npos) << text.out;
}

TEST_F(StatsViews, TheSlowestFrameIsFilledByWhatFilledIt) {
  const std::string capture = make_views_capture();
  const Json json = json_of({"--slowest-frames", "2", capture});
  EXPECT_EQ(json["frame_count"], 6);
  EXPECT_EQ(json["median_ns"], 100 * ms);
  ASSERT_EQ(json["slowest_frames"].size(), 2U);
  const Json& slow = json["slowest_frames"][0];
  EXPECT_EQ(slow["number"], 6);
  EXPECT_EQ(slow["duration_ns"], 300 * ms);
  EXPECT_EQ(slow["sites"][0]["name"], "load");
  EXPECT_EQ(slow["sites"][0]["self_ns"], 200 * ms);
  EXPECT_EQ(row_named(slow["sites"], "loop")["self_ns"], 70 * ms);
  EXPECT_EQ(row_named(slow["sites"], "stream")["self_ns"], 40 * ms);
  const CommandResult text = kymo({"stats", "--slowest-frames", "1", capture});
  EXPECT_NE(text.out.find("frame 6: 300 ms, from 500 ms on"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("66.7 %"), std::string::npos) << text.out;
}

TEST_F(StatsViews, EveryOutputGivesAFrameTheSameNumber) {
  const std::string capture = make_views_capture();
  const Json part = json_of({"--frames", "6", capture});
  EXPECT_EQ(part["frame_streams"][0]["count"], 1);
  EXPECT_EQ(part["frame_streams"][0]["total_ns"], 300 * ms) << "the sixth whole frame is the slow one";
  EXPECT_EQ(json_of({"--slowest-frames", "1", capture})["slowest_frames"][0]["number"], 6);
  EXPECT_NE(kymo({"stats", capture}).out.find("slowest: frame 6: 300 ms, from 500 ms on"), std::string::npos);
  ASSERT_EQ(kymo({"report", "-o", "page.html", capture}).status, 0);
  EXPECT_NE(
      read_text(file_named("page.html")).find(R"(frame <data value="6">6</data>: <strong><data value="300000000">)"),
      std::string::npos);
  ASSERT_EQ(kymo({"export", "--to", "csv-frames", "-o", "frames.csv", capture}).status, 0);
  EXPECT_NE(read_text(file_named("frames.csv")).find(",6,500000000,300000000"), std::string::npos)
      << read_text(file_named("frames.csv"));
  ASSERT_EQ(kymo({"export", "--to", "chrome", "-o", "trace.json", capture}).status, 0);
  const Json trace = Json::parse(read_text(file_named("trace.json")));
  std::size_t frames = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("cat", "") == "frame" && event["dur"].get<double>() > 299'999) {
      EXPECT_EQ(event["args"]["number"], 6);
      ++frames;
    }
  }
  EXPECT_EQ(frames, 1U);
}

TEST_F(StatsViews, WaitsNameTheLockAndItsHolder) {
  PowerRecording recording;
  recording.frame_mark(0);
  recording.lock_wait(10, 40, TrackId{1}, "queue", "load (main.cpp:9)");
  recording.lock_wait(50, 60, TrackId{1}, "queue", "worker 2");
  recording.lock_wait(70, 75, TrackId{1}, "queue", "");
  recording.frame_mark(100);
  write("waits.kymo", recording.make_capture(1));
  for (const std::vector<std::string>& view :
       std::vector<std::vector<std::string>>{{}, {"--tree"}, {"--slowest-frames", "1"}}) {
    std::vector<std::string> arguments{"stats", "waits.kymo"};
    arguments.insert(arguments.end(), view.begin(), view.end());
    const std::string shown = kymo(arguments).out;
    EXPECT_NE(shown.find("wait for queue, held by load (main.cpp:9) "), std::string::npos) << shown;
    EXPECT_NE(shown.find("wait for queue, held by worker 2 "), std::string::npos) << shown;
    EXPECT_NE(shown.find("wait for queue  "), std::string::npos) << shown;
  }
  ASSERT_EQ(kymo({"report", "-o", "page.html", "waits.kymo"}).status, 0);
  const std::string page = read_text(file_named("page.html"));
  EXPECT_NE(page.find("<section id=\"locks\">"), std::string::npos);
  EXPECT_NE(page.find("wait for queue, held by worker 2"), std::string::npos);
}

TEST_F(StatsViews, TheTimeOfAFiberCountsOnceInStacks) {
  PowerRecording recording;
  recording.fiber(TrackId{2}, "task");
  recording.open(0, TrackId{1}, "loop");
  recording.scope(10, 40, TrackId{1}, "task");
  recording.close(100, TrackId{1});
  recording.scope(10, 40, TrackId{2}, "work");
  write("fiber.kymo", recording.make_capture(1));
  ASSERT_EQ(kymo({"export", "--to", "collapsed", "-o", "stacks.txt", "fiber.kymo"}).status, 0);
  EXPECT_EQ(read_text(file_named("stacks.txt")), "task;work 30\nthread;loop 70\n");
}

TEST_F(StatsViews, OnATerminalNoLineIsWiderAndInAPipeNothingIsCut) {
  const std::string name = "scene::Renderer<scene::Forward>::draw(const std::vector<scene::Mesh>&, scene::Camera)";
  PowerRecording recording;
  for (std::int64_t i = 0; i < 30; ++i) {
    recording.frame_mark(10 * i * ms);
    recording.open((10 * i + 1) * ms, TrackId{1}, name + std::to_string(i));
    recording.scope((10 * i + 2) * ms, (10 * i + 3) * ms, TrackId{1}, "cull");
    recording.close((10 * i + 9) * ms, TrackId{1});
  }
  recording.gpu_span(1 * ms, 3 * ms, name + " on the GPU");
  MetricSeries series;
  series.times_ns = {1 * ms, 2 * ms};
  series.values = {1.5, 2.5};
  MetricDeclaration own;
  own.name = "loss of the model that is trained on all of it";
  recording.metric(own, series);
  MetricDeclaration machine;
  machine.name = "cpu_util";
  machine.source = "/proc/stat";
  recording.metric(machine, series);
  write("run.kymo", recording.make_capture(4));
  const CommandResult piped = kymo({"stats", "run.kymo"});
  EXPECT_EQ(piped.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(piped.out.find("…"), std::string::npos);
  EXPECT_NE(piped.out.find(name + "0 "), std::string::npos) << piped.out;
  EXPECT_NE(piped.out.find(own.name), std::string::npos);
  EXPECT_EQ(piped.out.find("cpu_util"), std::string::npos) << "the machine's metrics are for --metrics";
  EXPECT_NE(piped.out.find("--metrics (1 of the machine)"), std::string::npos);
  EXPECT_NE(kymo({"stats", "--metrics", "run.kymo"}).out.find("cpu_util"), std::string::npos);
  const std::vector<std::vector<std::string>> views{
      {}, {"--metrics"}, {"--tree"}, {"--slowest-frames", "2"}, {"--histogram"}, {"--sort", "p99", "--top", "3"}};
  for (const std::size_t columns : {60U, 80U, 100U, 120U}) {
    for (const std::vector<std::string>& view : views) {
      std::vector<std::string> arguments{"stats", "run.kymo"};
      arguments.insert(arguments.end(), view.begin(), view.end());
      const std::string shown = on_terminal(arguments, columns, {});
      const std::string what = std::to_string(columns) + (view.empty() ? "" : view[0]) + "\n" + shown;
      EXPECT_LE(widest_line(shown), columns) << what;
      EXPECT_NE(shown.find("\x1b["), std::string::npos) << what;
      EXPECT_TRUE(view != std::vector<std::string>{"--histogram"} ||
                  shown.find("from min to max, logarithmic") != std::string::npos)
          << "sketches are never cut\n"
          << what;
      EXPECT_NE(shown.find("…"), std::string::npos) << what;
    }
  }
  EXPECT_EQ(on_terminal({"stats", "run.kymo"}, 80, {{"NO_COLOR", "1"}}).find('\x1b'), std::string::npos);
}

TEST_F(StatsViews, RowsAreSortedCountedAndFiltered) {
  const std::string capture = make_views_capture();
  const std::string sorted = kymo({"stats", "--sort", "count", "--top", "1", capture}).out;
  EXPECT_NE(sorted.find("\ndraw"), std::string::npos) << sorted;
  EXPECT_NE(sorted.find("... and 3 sites more; --top 4 shows all"), std::string::npos) << sorted;
  const CommandResult filtered = kymo({"stats", "--filter", "lo*", "--filter", "board*", capture});
  EXPECT_NE(filtered.out.find("\nload"), std::string::npos) << filtered.out;
  EXPECT_NE(filtered.out.find("\nboard_power"), std::string::npos) << filtered.out;
  EXPECT_EQ(filtered.out.find("\ndraw"), std::string::npos) << filtered.out;
  const CommandResult nothing = kymo({"stats", "--filter", "nobody*", capture});
  EXPECT_EQ(nothing.status, 1);
  EXPECT_NE(nothing.err.find("is called nobody*"), std::string::npos) << nothing.err;
  const CommandResult wrong = kymo({"stats", "--sort", "speed", capture});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(
      wrong.err.find("self, total, count, mean, min, p50, p95, p99, p99.9, max, cpu, pushed-off, blocked, name, where"),
      std::string::npos)
      << wrong.err;
  const Json json = json_of({capture});
  EXPECT_NEAR(row_named(json["metrics"], "process_rss")["p50"].get<double>(), 50e6, 50e6 / 1024);
}

TEST_F(StatsViews, PhasesHaveTablesOfTheirOwn) {
  const std::string capture = make_views_capture();
  const Json json = json_of({"--phases", capture});
  ASSERT_EQ(json["phases"].size(), 2U);
  EXPECT_EQ(json["phases"][0]["number"], 1);
  EXPECT_EQ(row_named(json["phases"][0]["sites"], "draw")["count"], 5);
  EXPECT_EQ(row_named(json["phases"][1]["sites"], "draw")["count"], 1);
  const CommandResult text = kymo({"stats", "--phases", capture});
  EXPECT_NE(text.out.find("phase 2: 500 ms, from 500 ms on"), std::string::npos) << text.out;
}

TEST_F(StatsViews, SketchesAreInBlocksOrInAsciiAsTheLocaleSays) {
  const std::string capture = make_views_capture();
  const CommandResult blocks = kymo({"stats", "--histogram", capture}, {{"LC_ALL", "C.UTF-8"}});
  EXPECT_NE(blocks.out.find("█"), std::string::npos) << blocks.out;
  const CommandResult ascii = kymo({"stats", "--histogram", capture}, {{"LC_ALL", "C"}});
  EXPECT_EQ(ascii.out.find("█"), std::string::npos);
  EXPECT_NE(ascii.out.find("@"), std::string::npos) << ascii.out;
  std::uint64_t count = 0;
  const Json json = json_of({"--histogram", capture});
  for (const Json& bucket : row_named(json["sites"], "draw")["histogram"]) {
    EXPECT_LE(bucket[0], 30 * ms);
    EXPECT_GE(bucket[1], 30 * ms);
    count += bucket[2].get<std::uint64_t>();
  }
  EXPECT_EQ(count, 6U);
}

TEST_F(StatsViews, MetricsStandBesideTheSitesThatRan) {
  const std::string capture = make_views_capture();
  const Json json = json_of({"--with", "power,memory", capture});
  const Json& load = row_named(json["sites"], "load")["with"];
  ASSERT_EQ(load.size(), 2U);
  EXPECT_EQ(load[0]["metric"], "power");
  EXPECT_EQ(load[0]["sources"][0], "board_power");
  EXPECT_NEAR(load[0]["mean"].get<double>(), 80, 1e-9);
  EXPECT_NEAR(load[0]["known_s"].get<double>(), 0.2, 1e-9);
  EXPECT_EQ(load[0]["is_estimated"], false);
  EXPECT_EQ(load[1]["sources"][0], "process_rss");
  EXPECT_EQ(load[1]["peak"], 75e6) << "the sample at its end";
  EXPECT_NEAR(row_named(json["sites"], "stream")["with"][1]["mean"].get<double>(), 61.5e6, 1e-3);
  const Json& draw = row_named(json["sites"], "draw")["with"][0];
  EXPECT_NEAR(draw["mean"].get<double>(), 30, 1e-9) << "five sixths at 20 W, one at 80 W";
  EXPECT_NEAR(draw["peak"].get<double>(), 80, 1e-9);
  const CommandResult text = kymo({"stats", "--with", "power,memory", capture});
  EXPECT_NE(text.out.find("75 MB"), std::string::npos) << text.out;
  const Json part = json_of({"--with", "power", "--frames", "1..2", capture});
  EXPECT_NEAR(row_named(part["sites"], "loop")["with"][0]["peak"].get<double>(), 20, 1e-9);
}

TEST_F(StatsViews, AFigureThatIsMissingIsNotZero) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  PowerRecording recording;
  recording.scope(0, 10 * ms, TrackId{1}, "draw");
  recording.frame_mark(5 * ms);
  for (const auto& [name, value] : {std::pair("unreadable", std::nan("")), std::pair("endless", infinity)}) {
    MetricDeclaration metric;
    metric.name = name;
    MetricSeries series;
    series.times_ns = {1 * ms, 2 * ms};
    series.values = {value, value};
    recording.metric(metric, series);
  }
  write("missing.kymo", recording.make_capture(1));
  const Json json = json_of({"missing.kymo"});
  const Json& frames = json["frame_streams"][0];
  EXPECT_EQ(frames["count"], 0);
  EXPECT_EQ(frames["total_ns"], 0);
  for (const char* key : {"mean_ns", "min_ns", "p50_ns", "p95_ns", "p99_ns", "p99_9_ns", "max_ns"}) {
    EXPECT_TRUE(frames[key].is_null()) << key;
  }
  for (const auto& [name, count] : {std::pair("unreadable", 0), std::pair("endless", 2)}) {
    const Json row = row_named(json["metrics"], name);
    EXPECT_EQ(row["count"], count);
    for (const char* key : {"min", "mean", "max", "last", "standard_deviation", "p50", "p95", "p99"}) {
      EXPECT_TRUE(row[key].is_null()) << name << key;
    }
  }
  const std::string text = kymo({"stats", "--metrics", "missing.kymo"}).out;
  for (const char* row : {"\\(main\\) +0 +0 ns +- +- ", "endless +2 +- +- +- +- ", "unreadable +0 +- +- "}) {
    EXPECT_TRUE(std::regex_search(text, std::regex(row))) << row << text;
  }
  ASSERT_EQ(kymo({"report", "-o", "missing.html", "missing.kymo"}).status, 0);
  const std::string page = read_text(file_named("missing.html"));
  const std::string section =
      page.substr(page.find("id=\"frames\""), page.find("id=\"metrics\"") - page.find("id=\"frames\""));
  EXPECT_EQ(section.find("0 ns"), section.rfind("0 ns")) << "the total alone: " << section;
}

TEST_F(StatsViews, WhatAFlightRecorderLetGoIsSaidAndIsNoPartOfTheRun) {
  write("flight.kymo", FlightRecording::capture());
  const std::regex said("flight.kymo: 27[01] ms of 3(49|50) ms are not in it");
  const CommandResult text = kymo({"stats", "flight.kymo"});
  EXPECT_TRUE(std::regex_search(text.err, said)) << text.err;
  EXPECT_NE(text.out.find("79.0 ms, "), std::string::npos) << text.out;
  for (const Json& json : {json_of({"flight.kymo"}), Json::parse(kymo({"info", "--json", "flight.kymo"}).out)}) {
    EXPECT_TRUE(std::regex_search(json["warnings"][0].get<std::string>(), said)) << json["warnings"];
  }
}

TEST_F(StatsViews, SpansWhoseGpuTimesAreNotKnownAreCountedAndHaveNoDurations) {
  PowerRecording recording;
  recording.gpu_span(1 * ms, 3 * ms, "shadow pass");
  recording.gpu_span(4 * ms, 4 * ms, "shadow pass (unresolved)");
  recording.scope(0, 5 * ms, TrackId{1}, "frame");
  const auto bytes = recording.make_capture(4);
  std::ofstream(file_named("gpu.kymo"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const Json json = json_of({"gpu.kymo"});
  EXPECT_EQ(row_named(json["spans"], "shadow pass")["count"], 1);
  const Json& marks = row_named(json["spans"], "shadow pass (unresolved)");
  EXPECT_EQ(marks["count"], 1);
  EXPECT_EQ(marks["unresolved"], true);
  EXPECT_FALSE(marks.contains("mean_ns"));
  const CommandResult text = kymo({"stats", "gpu.kymo"});
  const std::size_t row = text.out.find("shadow pass (unresolved)");
  ASSERT_NE(row, std::string::npos) << text.out;
  EXPECT_EQ(text.out.substr(row, text.out.find('\n', row) - row).find("ns"), std::string::npos) << text.out;
}

}  // namespace
}  // namespace kymo::test
