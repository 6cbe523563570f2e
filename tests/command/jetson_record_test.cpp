// A Jetson board made of files, from end to end: what kymo doctor says of it and kymo record samples there.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "command_fixture.hpp"
#include "sense/jetson_tree.hpp"

namespace kymo::test {
namespace {

class JetsonRecord : public CommandTest {
 protected:
  JetsonRecord() {
    tree_.set_gpu_load("451\n");
    tree_.set_emc(10'000'000, 2'000'000'000, 50'000);
  }

  JetsonTree tree_{orin_nx_model()};
};

TEST_F(JetsonRecord, DoctorFindsEverySourceOfTheBoard) {
  const CommandResult result =
      kymo({"doctor", "--json", "--root", tree_.root(), "--sensors", "gpu_load,emc,ina3221,jetson"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["sensors"].size(), 4U);
  for (const auto& sensor : report["sensors"]) {
    EXPECT_EQ(sensor["state"], "works") << sensor;
  }
}

TEST_F(JetsonRecord, BoardReleaseAndPowerModeAreFactsOfTheCapture) {
  tree_.write("/etc/nv_tegra_release", "# R36 (release), REVISION: 3.0, GCID: 1, BOARD: generic\n");
  const CommandResult result = kymo(
      {"record", "-o", "run.kymo", "--root", tree_.root(), "--sensors", "jetson", "--", "/bin/sh", "-c", busy_loop()});
  ASSERT_EQ(result.status, 0) << result.err;
  std::map<std::string, std::string> facts;
  const auto info = nlohmann::json::parse(kymo({"info", "--json", "run.kymo"}).out);
  for (const auto& process : info["processes"]) {
    for (const auto& [key, value] : process["infos"].items()) {
      facts[key] = value;
    }
  }
  EXPECT_EQ(facts["l4t"], "36.3.0");
  EXPECT_NE(facts["board"], "");
  EXPECT_NE(facts["power_mode"], "");
}

TEST_F(JetsonRecord, ItsRailsAndLoadsAreInTheCaptureAsTheFilesHaveThem) {
  const CommandResult result = kymo({"record", "-o", "run.kymo", "--root", tree_.root(), "--hz", "100,100,100",
                                     "--sensors", "gpu_load,emc,ina3221,jetson", "--", "/bin/sh", "-c", busy_loop()});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto stats = nlohmann::json::parse(kymo({"stats", "--json", "run.kymo"}).out);
  std::map<std::string, nlohmann::json> metrics;
  for (const auto& metric : stats["metrics"]) {
    metrics[metric["name"].get<std::string>() + " " + metric["labels"].value("rail", "")] = metric;
  }
  const auto expect_always = [&](const std::string& name, double value, const char* unit) {
    ASSERT_EQ(metrics.count(name), 1U) << name;
    EXPECT_EQ(metrics[name]["unit"], unit);
    EXPECT_GT(metrics[name]["count"].get<int>(), 0);
    EXPECT_NEAR(metrics[name]["min"].get<double>(), value, 1e-9) << name;
    EXPECT_NEAR(metrics[name]["max"].get<double>(), value, 1e-9) << name;
  };
  for (const JetsonChannel& channel : tree_.channels()) {
    const double volts = channel.millivolts / 1000.0;
    const double amperes = channel.milliamperes / 1000.0;
    expect_always("voltage " + channel.label, volts, "V");
    expect_always("current " + channel.label, amperes, "A");
    expect_always("power " + channel.label, volts * amperes, "W");
  }
  expect_always("gpu_util ", 45.1, "%");
  expect_always("emc_util ", 10.0, "%");  // 10 million of 2 GHz x 50 ms
  expect_always("fan_duty ", 20.0, "%");  // 51 of 255
  expect_always("fan_speed ", 1490.0, "rpm");
  expect_always("power_mode ", 2.0, "");
}

}  // namespace
}  // namespace kymo::test
