#include <gtest/gtest.h>
#include <cmath>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_pressure_sensors;
namespace {

using test::ms;

class PressureTest : public testing::Test {
 protected:
  void make() { make_pressure_sensors(tree.context(), sensors); }
  void write(const std::string& resource, std::uint64_t some_us, std::uint64_t full_us) {
    const auto line = [](const std::string& kind, std::uint64_t total_us) {
      return kind + " avg10=0.90 avg60=0.64 avg300=7.32 total=" + std::to_string(total_us) + "\n";
    };
    tree.write("/proc/pressure/" + resource, line("some", some_us) + line("full", full_us));
  }
  test::Readings read(std::int64_t now_ms) { return test::read_all(sensors, now_ms * ms); }

  test::MachineTree tree;
  SensorList sensors;
};

TEST_F(PressureTest, SharesAreOfTheTimeBetweenTwoReads) {
  write("cpu", 1'000'000, 0);
  write("io", 2'000'000, 500'000);
  write("memory", 0, 0);
  make();
  EXPECT_TRUE(read(1000).empty());
  write("cpu", 1'012'345, 0);
  write("io", 2'100'000, 550'000);
  write("memory", 101'000, 0);  // a little more than the time there was
  const test::Readings readings = read(1100);
  EXPECT_EQ(readings.size(), 5u);
  EXPECT_EQ(readings.at("pressure_cpu"), 12.35);
  EXPECT_EQ(readings.at("pressure_io"), 100);
  EXPECT_EQ(readings.at("pressure_io_full"), 50);
  EXPECT_EQ(readings.at("pressure_memory"), 100);
  EXPECT_EQ(readings.at("pressure_memory_full"), 0);
}

TEST_F(PressureTest, WhereTheKernelKeepsNoneTheUserIsToldHowToAskForIt) {
  make();
  read(1000);
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), "No such file or directory: " + tree.at("/proc/pressure/memory").string());
  EXPECT_NE(sensors[0]->advice().find("psi=1"), std::string::npos);
}

TEST_F(PressureTest, OneResourceMissingLeavesTheOthers) {
  write("cpu", 1000, 0);
  tree.write("/proc/pressure/io", "some avg10=0.00\nfull total=x\n");
  make();
  read(1000);
  EXPECT_FALSE(sensors[0]->is_unavailable());
  EXPECT_FALSE(sensors[0]->trouble().empty());
  write("cpu", 2000, 0);
  write("io", 0, 0);
  write("memory", 0, 0);
  const test::Readings readings = read(1100);
  EXPECT_EQ(readings.at("pressure_cpu"), 1);
  EXPECT_EQ(sensors[0]->trouble(), "");
}

TEST_F(PressureTest, TotalsThatGoBackOrAreCutAreGaps) {
  write("cpu", 1000, 0);
  make();
  read(1000);
  read(1100);
  write("cpu", 10, 0);
  EXPECT_TRUE(std::isnan(read(1200).at("pressure_cpu")));
  EXPECT_EQ(read(1300).at("pressure_cpu"), 0);
  tree.write("/proc/pressure/cpu", "some avg10=0.90 avg60=0.64 avg300=7.32 total=1");
  EXPECT_TRUE(std::isnan(read(1400).at("pressure_cpu")));
}

}  // namespace
}  // namespace kymo::sense
