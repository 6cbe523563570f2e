// Sensors of Jetson boards, on trees of files.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <cmath>
#include <string>

#include "jetson_tree.hpp"
#include "sense/common/sensor.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {
SensorMaker make_jetson_sensors;
}

namespace kymo::test {
namespace {

using sense::Sensor;
using sense::SensorList;

SensorList make(const MachineTree& tree) {
  SensorList list;
  make_jetson_sensors(tree.context(), list);
  return list;
}

const Sensor& sensor(const SensorList& list, const std::string& name) {
  for (const auto& each : list) {
    if (each->name() == name) {
      return *each;
    }
  }
  throw std::runtime_error(name);
}

TEST(Jetson, GpuLoadIsInPercent) {
  JetsonTree tree(agx_orin_model());
  const SensorList sensors = make(tree);
  tree.set_gpu_load("437\n");
  EXPECT_EQ(read_all(sensors, second).at("gpu_util{gpu=0}"), 43.7);
  tree.set_gpu_load("1000\n");
  EXPECT_EQ(read_all(sensors, 2 * second).at("gpu_util{gpu=0}"), 100);
  const MetricDeclaration metric = declaration_of(sensors, "gpu_util{gpu=0}");
  EXPECT_EQ(metric.unit, "%");
  EXPECT_EQ(metric.step, 0.1);
  EXPECT_EQ(metric.source, "/sys/devices/platform/bus@0/17000000.gpu/load");
  EXPECT_EQ(sensor(sensors, "gpu_load").tier(), Tier::fast);
}

TEST(Jetson, ALoadThatCannotBeIsAGapAndComesBack) {
  JetsonTree tree(agx_orin_model());
  const SensorList sensors = make(tree);
  tree.set_gpu_load("500\n");
  EXPECT_EQ(read_all(sensors, second).at("gpu_util{gpu=0}"), 50);
  std::int64_t now = second;
  for (const char* const bad : {"1001\n", "-1\n", "", "x\n", "99999999999999999999999\n", "nan\n"}) {
    tree.set_gpu_load(bad);
    EXPECT_TRUE(std::isnan(read_all(sensors, now += 2 * second).at("gpu_util{gpu=0}"))) << bad;
    EXPECT_NE(sensor(sensors, "gpu_load").trouble(), "") << bad;
    tree.set_gpu_load("500\n");
    EXPECT_EQ(read_all(sensors, now += 2 * second).at("gpu_util{gpu=0}"), 50) << bad;
    EXPECT_EQ(sensor(sensors, "gpu_load").trouble(), "");
  }
}

TEST(Jetson, MemoryControllerLoadIsBusyCyclesOfThoseInAPeriod) {
  JetsonTree tree(orin_nx_model());
  const SensorList sensors = make(tree);
  // Two million cycles a millisecond, 50 ms: a hundred million; a quarter of them busy.
  tree.set_emc(25'000'000, 2'000'000'000, 50'000);
  EXPECT_EQ(read_all(sensors, second).at("emc_util"), 25);
  tree.set_emc(12'345'000, 2'000'000'000, 50'000);
  EXPECT_EQ(read_all(sensors, second + 1000).at("emc_util"), 12.35);
  const MetricDeclaration metric = declaration_of(sensors, "emc_util");
  EXPECT_EQ(metric.window_ns, 50'000'000);
  EXPECT_EQ(metric.source, "/sys/kernel/debug/cactmon/mc_all");
  tree.set_emc(1, 0, 50'000);
  EXPECT_TRUE(std::isnan(read_all(sensors, second + 2000).at("emc_util")));
  tree.set_emc(1, 1'000'000, 0);
  (void)read_all(sensors, 4 * second);
  EXPECT_NE(sensor(sensors, "emc").trouble().find("sample_period_usec"), std::string::npos);
}

TEST(Jetson, MemoryControllerFilesThatOnlyRootReadsComeWithTheRemedy) {
  JetsonTree tree(orin_nx_model());
  const SensorList sensors = make(tree);
  // Nobody but its owner gets through the tree's directory; root is somebody else for a moment.
  ::chmod(tree.root().c_str(), 0);
  const bool is_root = ::geteuid() == 0;
  constexpr uid_t nobody = 65534;
  if (is_root && ::seteuid(nobody) != 0) {
    GTEST_SKIP() << "cannot be another user";
  }
  (void)read_all(sensors, second);
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(tree.root().c_str(), 0700);
  EXPECT_TRUE(sensor(sensors, "emc").is_unavailable());
  EXPECT_NE(sensor(sensors, "emc").trouble().find("ermission denied: "), std::string::npos);
  EXPECT_EQ(sensor(sensors, "emc").advice(), "sudo kymo setup-jetson");
}

TEST(Jetson, EveryLabelledRailHasVoltageCurrentAndTheirProduct) {
  for (const JetsonModel& model : {agx_orin_model(), orin_nx_model(), orin_nano_model()}) {
    const JetsonTree tree(model, 3);
    const SensorList sensors = make(tree);
    const Readings readings = read_all(sensors, second);
    std::size_t wired = 0;
    for (const JetsonChannel& channel : tree.channels()) {
      const std::string label = "{rail=" + channel.label + "}";
      if (channel.label == "NC") {
        EXPECT_EQ(readings.count("power" + label), 0U);
        continue;
      }
      ++wired;
      EXPECT_DOUBLE_EQ(readings.at("voltage" + label), channel.millivolts / 1000.0);
      EXPECT_DOUBLE_EQ(readings.at("current" + label), channel.milliamperes / 1000.0);
      EXPECT_NEAR(readings.at("power" + label), channel.millivolts * channel.milliamperes / 1e6, 1e-9);
      const bool is_total = (declaration_of(sensors, "power" + label).traits & MetricDeclaration::total) != 0;
      EXPECT_EQ(is_total, channel.label == "VDD_IN") << channel.label;
    }
    EXPECT_EQ(sensor(sensors, "ina3221").metrics().size(), 3 * wired);
  }
}

TEST(Jetson, ARailThatFailsIsAGapOfItsOwn) {
  JetsonTree tree(agx_orin_model());
  const SensorList sensors = make(tree);
  EXPECT_DOUBLE_EQ(read_all(sensors, second).at("current{rail=VDD_GPU_SOC}"), 0.512);
  tree.write(tree.channel("VDD_GPU_SOC").current_path, "?\n");
  tree.write(tree.channel("VDD_CPU_CV").voltage_path, "20000\n");
  const Readings readings = read_all(sensors, 2 * second);
  EXPECT_TRUE(std::isnan(readings.at("current{rail=VDD_GPU_SOC}")));
  EXPECT_TRUE(std::isnan(readings.at("power{rail=VDD_GPU_SOC}")));
  EXPECT_DOUBLE_EQ(readings.at("voltage{rail=VDD_GPU_SOC}"), 19);
  EXPECT_DOUBLE_EQ(readings.at("voltage{rail=VDD_CPU_CV}"), 20);
  EXPECT_FALSE(sensor(sensors, "ina3221").is_unavailable());
  EXPECT_NE(sensor(sensors, "ina3221").trouble().find(tree.channel("VDD_GPU_SOC").current_path), std::string::npos);
}

TEST(Jetson, ClocksFanAndPowerModeAreRead) {
  JetsonTree tree(agx_orin_model());
  const SensorList sensors = make(tree);
  Readings readings = read_all(sensors, second);
  EXPECT_EQ(readings.at("gpu_clock{gpu=0}"), 306);
  EXPECT_EQ(readings.at("emc_clock"), 2133);
  EXPECT_EQ(readings.at("fan_duty"), 20);
  EXPECT_EQ(readings.at("fan_speed"), 1490);
  EXPECT_EQ(readings.at("power_mode"), 2);
  tree.write("/var/lib/nvpmodel/status", "pmode:0000 fmode:cool\n");
  tree.write("/sys/class/devfreq/17000000.gpu/cur_freq", "nonsense\n");
  readings = read_all(sensors, 2 * second);
  EXPECT_EQ(readings.at("power_mode"), 0);
  EXPECT_TRUE(std::isnan(readings.at("gpu_clock{gpu=0}")));
  EXPECT_EQ(readings.at("emc_clock"), 2133);
}

TEST(Jetson, EngineClocksAreThoseOfDevfreqElseOfDebugfs) {
  JetsonTree tree(agx_orin_model());
  tree.write("/sys/class/devfreq/154c0000.nvenc/cur_freq", "793600000\n");
  tree.write("/sys/class/devfreq/15340000.vic/cur_freq", "115200000\n");
  const std::string clocks = "/sys/kernel/debug/clk/";
  tree.write(clocks + "nvenc/clk_rate", "1\n");
  for (const auto& [name, users] :
       {std::pair{"nvdec", "1\n"}, std::pair{"ofa", "0\n"}, std::pair{"dla0_core", "2\n"}}) {
    tree.write(clocks + name + "/clk_rate", "678400000\n");
    tree.write(clocks + name + "/clk_enable_count", users);
  }
  const SensorList sensors = make(tree);
  Readings readings = read_all(sensors, second);
  EXPECT_EQ(readings.at("engine_clock{engine=nvenc}"), 793.6);
  EXPECT_EQ(readings.at("engine_clock{engine=vic}"), 115.2);
  EXPECT_EQ(readings.at("engine_clock{engine=nvdec}"), 678.4);
  EXPECT_EQ(readings.at("engine_clock{engine=nvdla0}"), 678.4);
  EXPECT_EQ(readings.at("engine_clock{engine=ofa}"), 0) << "it is turned off";
  EXPECT_EQ(readings.count("engine_clock{engine=nvjpg}"), 0U);
  tree.write(clocks + "ofa/clk_enable_count", "1\n");
  EXPECT_EQ(read_all(sensors, 2 * second).at("engine_clock{engine=ofa}"), 678.4);
}

TEST(Jetson, OverCurrentEventsAreCountedByAlarm) {
  JetsonTree tree(agx_orin_model());
  tree.write("/sys/class/hwmon/hwmon77/name", "soctherm_oc\n");
  tree.write("/sys/class/hwmon/hwmon77/oc1_event_cnt", "0\n");
  tree.write("/sys/class/hwmon/hwmon77/oc3_event_cnt", "813\n");
  tree.write("/sys/class/hwmon/hwmon77/oc3_throt_en", "1\n");
  const SensorList sensors = make(tree);
  const Readings readings = read_all(sensors, second);
  EXPECT_EQ(readings.at("overcurrent_events{alarm=oc1}"), 0);
  EXPECT_EQ(readings.at("overcurrent_events{alarm=oc3}"), 813);
  EXPECT_EQ(declaration_of(sensors, "overcurrent_events{alarm=oc3}").kind, MetricKind::counter);
}

TEST(Jetson, TheFanOfOldReleasesIsFound) {
  MachineTree tree;
  tree.write("/proc/device-tree/compatible", compatible_of({"nvidia,p3450-0000", "nvidia,tegra210"}));
  tree.write("/sys/devices/pwm-fan/cur_pwm", "255\n");
  tree.write("/sys/devices/pwm-fan/rpm_measured", "2210\n");
  SensorList sensors;
  make_jetson_sensors(tree.context(), sensors);
  const Readings readings = read_all(sensors, second);
  EXPECT_EQ(readings.at("fan_duty"), 100);
  EXPECT_EQ(readings.at("fan_speed"), 2210);
}

TEST(Jetson, AnotherMachineIsToldWhyThereIsNothing) {
  MachineTree generic;
  MachineTree unknown;
  unknown.write("/proc/device-tree/compatible", compatible_of({"acme,rocket"}));
  for (const MachineTree* const tree : {&generic, &unknown}) {
    const SensorList sensors = make(*tree);
    EXPECT_TRUE(read_all(sensors, second).empty());
    EXPECT_TRUE(read_all(sensors, 3 * second).empty());
    ASSERT_EQ(sensors.size(), 4U);
    for (const auto& each : sensors) {
      EXPECT_TRUE(each->is_unavailable()) << each->name();
      EXPECT_NE(each->trouble().find(tree == &generic ? "no Jetson board" : "acme,rocket"), std::string::npos)
          << each->trouble();
    }
  }
}

}  // namespace
}  // namespace kymo::test
