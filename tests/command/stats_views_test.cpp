// kymo stats: parts of a recording, the call tree, slowest frames, phases, sketches, and metrics beside sites.
#include <gtest/gtest.h>

#include <fstream>

#include "command_fixture.hpp"
#include "stats/power_recording.hpp"

namespace kymo::test {
namespace {

using Json = nlohmann::json;

class StatsViews : public CommandTest {
 protected:
  /// Five frames of 100 ms and a slow one of 300 ms, in which "load" takes 200 ms; 20 W, 80 W from 500 ms on; memory
  /// grows by a megabyte every 10 ms; the second phase begins with the slow frame.
  std::string make_views_capture() const {
    PowerRecording recording;
    recording.open(0, 1, "loop");
    for (std::int64_t i = 0; i < 5; ++i) {
      recording.frame_mark(100 * i * ms);
      recording.scope((100 * i + 10) * ms, (100 * i + 40) * ms, 1, "draw");
    }
    recording.frame_mark(500 * ms);
    recording.sync_point(5 * ms);
    recording.sync_point(500 * ms);
    recording.scope(510 * ms, 540 * ms, 1, "draw");
    recording.scope(550 * ms, 750 * ms, 1, "load");
    recording.frame_mark(800 * ms);
    recording.scope(600 * ms, 640 * ms, 2, "stream");
    recording.close(900 * ms, 1);
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
    std::ofstream(file_named("views.kymo"), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return "views.kymo";
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

TEST_F(StatsViews, RangesThatMakeNoSenseAreUsageErrors) {
  const std::string capture = make_views_capture();
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{"--frames", "5..2"},
                                                                                     {"--frames", ".."},
                                                                                     {"--frames", "a..b"},
                                                                                     {"--frames", "1..2..3"},
                                                                                     {"--frames", "-1..4"},
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
      {{"--frames", "6.."}, "it has 6 frames"},
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
  const Json frames = json_of({"--frames", "0..1", capture});
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
  EXPECT_EQ(slow["index"], 5);
  EXPECT_EQ(slow["duration_ns"], 300 * ms);
  EXPECT_EQ(slow["sites"][0]["name"], "load");
  EXPECT_EQ(slow["sites"][0]["self_ns"], 200 * ms);
  EXPECT_EQ(row_named(slow["sites"], "loop")["self_ns"], 70 * ms);
  EXPECT_EQ(row_named(slow["sites"], "stream")["self_ns"], 40 * ms);
  const CommandResult text = kymo({"stats", "--slowest-frames", "1", capture});
  EXPECT_NE(text.out.find("frame 5: 300 ms, from 500 ms on"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("66.7 %"), std::string::npos) << text.out;
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
  const Json part = json_of({"--with", "power", "--frames", "0..1", capture});
  EXPECT_NEAR(row_named(part["sites"], "loop")["with"][0]["peak"].get<double>(), 20, 1e-9);
}

TEST_F(StatsViews, SpansWhoseGpuTimesAreNotKnownAreCountedAndHaveNoDurations) {
  PowerRecording recording;
  recording.gpu_span(1 * ms, 3 * ms, "shadow pass");
  recording.gpu_span(4 * ms, 4 * ms, "shadow pass (unresolved)");
  recording.scope(0, 5 * ms, 1, "frame");
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
