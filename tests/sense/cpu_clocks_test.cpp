#include <gtest/gtest.h>
#include <cmath>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_cpu_clock_sensors;
namespace {

using test::ms;

class CpuClockTest : public testing::Test {
 protected:
  void make() { make_cpu_clock_sensors(tree.context(), sensors); }
  void write_clock(int core, const std::string& khz) {
    tree.write("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_cur_freq", khz);
  }
  test::Readings read(std::int64_t now_ms) { return test::read_all(sensors, now_ms * ms); }

  test::MachineTree tree;
  SensorList sensors;
};

TEST_F(CpuClockTest, ClocksAreThoseOfCpufreq) {
  tree.write("/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 1.5\n\n");
  tree.write("/sys/devices/system/cpu/cpufreq/boost", "1");
  tree.write("/sys/devices/system/cpu/cpuidle/current_driver", "none");
  write_clock(0, "2201000\n");
  write_clock(10, "729600\n");
  make();
  test::Readings readings = read(1000);
  EXPECT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings.at("cpu_clock{core=0}"), 2201);
  EXPECT_EQ(readings.at("cpu_clock{core=10}"), 729.6);
  const MetricDeclaration clock = test::declaration_of(sensors, "cpu_clock{core=10}");
  EXPECT_EQ(clock.unit, "MHz");
  EXPECT_EQ(clock.source, tree.at("/sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq").string());
  write_clock(10, "1190400\n");
  EXPECT_EQ(read(1100).at("cpu_clock{core=10}"), 1190.4);
}

TEST_F(CpuClockTest, AnUnpluggedCoreIsAGapAndNewOnesAreFoundWithinASecond) {
  write_clock(0, "1000000\n");
  write_clock(1, "1000000\n");
  make();
  read(1000);
  write_clock(1, "");
  test::Readings readings = read(1100);
  EXPECT_EQ(readings.at("cpu_clock{core=0}"), 1000);
  EXPECT_TRUE(std::isnan(readings.at("cpu_clock{core=1}")));
  write_clock(1, "<unknown>\n");
  EXPECT_EQ(read(1200).count("cpu_clock{core=1}"), 0u);
  write_clock(1, "0\n");
  EXPECT_EQ(read(1300).count("cpu_clock{core=1}"), 0u);
  write_clock(1, "1500000\n");
  write_clock(2, "3000000\n");
  EXPECT_EQ(read(1400).at("cpu_clock{core=1}"), 1500);
  EXPECT_EQ(read(2100).at("cpu_clock{core=2}"), 3000);
}

TEST_F(CpuClockTest, WithoutCpufreqTheListOfProcessorsIsRead) {
  std::string text;
  for (int core = 0; core < 200; ++core) {
    text += "processor\t: " + std::to_string(core) +
            "\nmodel name\t: a model: with colons\ncpu MHz\t\t: " + std::to_string(1000 + core) + ".250\n" +
            "flags\t\t: " + std::string(1000, 'f') + "\n\n";
  }
  tree.write("/proc/cpuinfo", text);
  make();
  test::Readings readings = read(1000);
  EXPECT_EQ(readings.size(), 200u);
  EXPECT_EQ(readings.at("cpu_clock{core=199}"), 1199.25);
  tree.write("/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.134\nprocessor\t: 1\ncpu MHz\t\t: 259");
  EXPECT_TRUE(read(1010).empty());  // too dear for a hundred reads a second
  readings = read(1100);
  EXPECT_EQ(readings.at("cpu_clock{core=0}"), 2596.134);
  EXPECT_TRUE(std::isnan(readings.at("cpu_clock{core=1}")));
}

TEST_F(CpuClockTest, WhereNobodyKnowsTheClocksItSaysSo) {
  tree.write("/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 62.50\n");
  make();
  EXPECT_TRUE(read(1000).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), "no cpufreq in " + tree.at("/sys/devices/system/cpu").string() +
                                       ", and no clock of a core in " + tree.at("/proc/cpuinfo").string());
}

}  // namespace
}  // namespace kymo::sense
