// kymo stats --energy: tables, JSON, and what it says where there is no power.
#include <gtest/gtest.h>

#include <fstream>

#include "command_fixture.hpp"
#include "stats/power_recording.hpp"
#include "support/programs.hpp"

namespace kymo::test {
namespace {

class EnergyTable : public CommandTest {
 protected:
  /// 20 W, half a thread's time in "work", which contains "part"; 100 W of a GPU.
  std::string make_power_capture() const {
    const TruePower power{.constant = 20};
    PowerRecording recording;
    recording.metric(energy_metric(), sample_energy(power, {}));
    recording.metric(energy_metric("cpu_energy", {{"package", "0"}, {"domain", "core"}}), sample_energy(power, {}));
    recording.metric(power_metric(), sample_power({.constant = 100}, {}));
    for (std::int64_t i = 0; i < 4; ++i) {
      recording.open((1 + 2 * i) * second, TrackId{1}, "work");
      recording.scope((1 + 2 * i) * second + 500 * ms, (1 + 2 * i) * second + 600 * ms, TrackId{1}, "part");
      recording.scope((1 + 2 * i) * second + 700 * ms, (1 + 2 * i) * second + 701 * ms, TrackId{1}, "blink");
      recording.close((2 + 2 * i) * second, TrackId{1});
      recording.frame_mark((1 + 2 * i) * second);
    }
    recording.gpu_span(second, 2 * second, "kernel");
    recording.sync_point(second);
    return write("power.kymo", recording);
  }

  std::string write(const std::string& name, const PowerRecording& recording) const {
    const auto bytes = recording.make_capture(3);
    std::ofstream(file_named(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return file_named(name);
  }
};

TEST_F(EnergyTable, ShowsJoulesWithBoundsAndWhatMeasuredThem) {
  const CommandResult result = kymo({"stats", "--energy", make_power_capture()});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* text : {"cpu_energy package=0 domain=package", "counter", "trapezoid", "gpu_power gpu=0",
                           "not added: cpu_energy package=0 domain=core", "work", "80.0 J", "unresolved", "kernel",
                           "100 J", "120 J", "±", "Idle floor 20 W", "phase", "measured"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  }
}

TEST_F(EnergyTable, OfAGpuAloneSaysThatTheMachinesIsNotKnown) {
  PowerRecording recording;
  recording.metric(power_metric(), sample_power({.constant = 100}, {}));
  recording.scope(second, 2 * second, TrackId{1}, "work");
  recording.gpu_span(second, 2 * second, "kernel");
  const std::string capture = write("gpu.kymo", recording);
  const CommandResult result = kymo({"stats", "--energy", capture});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("Machine: not known."), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("0 J \302\261"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("kernel"), std::string::npos) << result.out;
  const nlohmann::json json = nlohmann::json::parse(kymo({"stats", "--energy", "--json", capture}).out);
  EXPECT_TRUE(json["total"]["joules"].is_null());
  EXPECT_TRUE(json["sites"][0]["joules"].is_null());
  const CommandResult report = kymo({"report", "-o", file_named("gpu.html"), capture});
  EXPECT_EQ(report.status, 0) << report.err;
  EXPECT_EQ(read_file(file_named("gpu.html")).find("Joules of scopes"), std::string::npos);
}

TEST_F(EnergyTable, GivesTheSameAsJson) {
  const CommandResult result = kymo({"stats", "--energy", "--idle-watts", "5", "--json", make_power_capture()});
  ASSERT_EQ(result.status, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["power_sources"].size(), 2U);
  EXPECT_EQ(json["left_out"].size(), 1U);
  EXPECT_NEAR(json["total"]["joules"].get<double>(), 200, 1e-6);
  EXPECT_EQ(json["total"]["idle_watts"], 5);
  ASSERT_EQ(json["sites"].size(), 3U);
  EXPECT_EQ(json["sites"][0]["name"], "work");
  EXPECT_EQ(json["sites"][0]["count"], 4);
  EXPECT_NEAR(json["sites"][0]["joules"].get<double>(), 80, 1e-6);
  EXPECT_NEAR(json["sites"][0]["self_joules"].get<double>(), 71.92, 1e-3);
  EXPECT_NEAR(json["sites"][0]["idle_joules"].get<double>(), 20, 1e-6);
  EXPECT_EQ(json["sites"][2]["name"], "blink");
  EXPECT_EQ(json["sites"][2]["is_resolved"], false);
  EXPECT_NEAR(json["spans"][0]["gpu_joules"].get<double>(), 100, 1e-6);
  EXPECT_NEAR(json["frame_streams"][0]["joules"].get<double>(), 120, 1e-6);
  EXPECT_NEAR(json["phases"][0]["gpu_joules"].get<double>(), 900, 1e-6);
}

TEST_F(EnergyTable, TakesTheSourceThatTheUserNames) {
  const std::string capture = make_power_capture();
  const CommandResult result = kymo({"stats", "--energy", "--power-source", "core", "--json", capture});
  ASSERT_EQ(result.status, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["power_sources"].size(), 1U);
  EXPECT_EQ(json["power_sources"][0]["name"], "cpu_energy package=0 domain=core");
  const CommandResult none = kymo({"stats", "--energy", "--power-source", "sun", capture});
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("no power source fits sun"), std::string::npos);
  EXPECT_NE(none.err.find("cpu_energy package=0 domain=package"), std::string::npos) << "and says what there is";
}

TEST_F(EnergyTable, WithoutPowerFailsAndSaysWhy) {
  const CommandResult result = kymo({"stats", "--energy", make_capture("plain.kymo")});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("no power was recorded"), std::string::npos);
}

TEST_F(EnergyTable, OptionsOfEnergyNeedIt) {
  EXPECT_EQ(kymo({"stats", "--idle-watts", "5", "x.kymo"}).status, 2);
  EXPECT_EQ(kymo({"stats", "--power-source", "x", "x.kymo"}).status, 2);
  EXPECT_EQ(kymo({"stats", "--energy", "--idle-watts", "-5", "x.kymo"}).status, 2);
}

}  // namespace
}  // namespace kymo::test
