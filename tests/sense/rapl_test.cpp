// The energy counters of processors: wraps, resets, gaps, and what may not be read.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_rapl_sensors;

namespace {

using test::declaration_of;
using test::MachineTree;
using test::ms;
using test::read_all;
using test::Readings;
using test::sensors_of;

/// While it lives, a test that runs as root is somebody whom modes keep out.
class OrdinaryUser {
 public:
  OrdinaryUser() : user_(::geteuid()) { EXPECT_TRUE(user_ != 0 || ::seteuid(65534) == 0); }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;
  ~OrdinaryUser() { EXPECT_EQ(::seteuid(user_), 0); }

 private:
  uid_t user_;
};

void add_domain(MachineTree& tree, const std::string& entry, const std::string& name, const std::string& energy) {
  tree.write("/sys/class/powercap/" + entry + "/name", name + "\n");
  tree.write("/sys/class/powercap/" + entry + "/energy_uj", energy + "\n");
  tree.write("/sys/class/powercap/" + entry + "/max_energy_range_uj", "262143328850\n");
}

TEST(Rapl, TakesAllPackagesAndTheirPartsAndTellsWhatContainsOthers) {
  MachineTree tree;
  tree.write("/sys/class/powercap/intel-rapl/enabled", "1\n");
  add_domain(tree, "intel-rapl:0", "package-0", "1000000");
  add_domain(tree, "intel-rapl:0:0", "core", "500000");
  add_domain(tree, "intel-rapl:0:1", "dram", "200000");
  add_domain(tree, "intel-rapl:1", "package-1", "3000000");
  add_domain(tree, "intel-rapl:1:0", "dram", "210000");
  add_domain(tree, "intel-rapl:2", "psys", "9000000");
  add_domain(tree, "intel-rapl-mmio:0", "package-0", "77");
  const SensorList sensors = sensors_of(make_rapl_sensors, tree);
  EXPECT_EQ(read_all(sensors, 1'000 * ms), (Readings{{"cpu_energy{package=0,domain=package-0}", 1},
                                                     {"cpu_energy{package=0,domain=core}", 0.5},
                                                     {"cpu_energy{package=0,domain=dram}", 0.2},
                                                     {"cpu_energy{package=1,domain=package-1}", 3},
                                                     {"cpu_energy{package=1,domain=dram}", 0.21},
                                                     {"cpu_energy{domain=psys}", 9}}));
  const auto is_total = [&](const std::string& key) {
    return (declaration_of(sensors, key).traits & MetricDeclaration::total) != 0;
  };
  EXPECT_TRUE(is_total("cpu_energy{package=0,domain=package-0}"));
  EXPECT_TRUE(is_total("cpu_power{package=0,domain=package-0}"));
  EXPECT_TRUE(is_total("cpu_energy{domain=psys}"));
  EXPECT_FALSE(is_total("cpu_energy{package=0,domain=core}"));
  EXPECT_FALSE(is_total("cpu_energy{package=0,domain=dram}"));
  EXPECT_FALSE(is_total("cpu_energy{package=1,domain=package-1}")) << "no part of it has a counter of its own";
  const MetricDeclaration energy = declaration_of(sensors, "cpu_energy{package=0,domain=core}");
  EXPECT_EQ(energy.kind, MetricKind::energy_counter);
  EXPECT_EQ(energy.source, "/sys/class/powercap/intel-rapl:0:0/energy_uj");
}

TEST(Rapl, EnergyGoesOnAcrossAWrapAndPowerIsItsSlope) {
  MachineTree tree;
  const std::int64_t range = 262'143'328'850;
  std::int64_t raw = range - 1'000'000;  // a joule before the wrap
  add_domain(tree, "intel-rapl:0", "package-0", std::to_string(raw));
  const SensorList sensors = sensors_of(make_rapl_sensors, tree);
  const std::string energy = "cpu_energy{package=0,domain=package-0}";
  const std::string power = "cpu_power{package=0,domain=package-0}";
  const double start = read_all(sensors, 1'000 * ms).at(energy);
  EXPECT_EQ(start, static_cast<double>(raw) / 1e6);
  for (std::int64_t step = 1; step <= 20; ++step) {
    raw += 250'000;  // 0.25 J in 10 ms: 25 W
    tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", std::to_string(raw % (range + 1)) + "\n");
    const Readings readings = read_all(sensors, (1'000 + step * 10) * ms);
    EXPECT_NEAR(readings.at(energy) - start, 0.25 * static_cast<double>(step), 1e-6);
    ASSERT_EQ(readings.count(power), step >= 3 ? 1U : 0U) << "from the first renewal on";
    if (step >= 3) {
      EXPECT_NEAR(readings.at(power), 25, 1e-3);
    }
  }
}

TEST(Rapl, PowerOfACounterThatRenewsSeldomIsToldOverItsRenewals) {
  MachineTree tree;
  add_domain(tree, "intel-rapl:0", "package-0", "1000000");
  const SensorList sensors = sensors_of(make_rapl_sensors, tree);
  const std::string power = "cpu_power{package=0,domain=package-0}";
  // 25 W, renewed every 100 ms, read every 10 ms; after 3 s it stands still.
  std::size_t fresh = 0;
  for (std::int64_t step = 0; step <= 500; ++step) {
    const std::int64_t time_ms = step * 10;
    const std::int64_t renewals = std::min<std::int64_t>((time_ms + 37) / 100, 30);
    tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", std::to_string(1'000'000 + renewals * 2'500'000) + "\n");
    const Readings readings = read_all(sensors, (1'000 + time_ms) * ms);
    if (readings.count(power) == 0) {
      EXPECT_LT(time_ms, 200);
      continue;
    }
    if (time_ms < 3'900) {
      EXPECT_NEAR(readings.at(power), 25, 0.01) << "at " << time_ms << " ms";
    } else if (time_ms > 4'500) {
      EXPECT_EQ(readings.at(power), 0) << "at " << time_ms << " ms";
    }
    ++fresh;
  }
  EXPECT_GT(fresh, 450U);
  EXPECT_NEAR(static_cast<double>(declaration_of(sensors, power).window_ns), 100e6, 10e6);
}

TEST(Rapl, AResetIsAGapAndSaidAndNoEnergy) {
  MachineTree tree;
  add_domain(tree, "intel-rapl:0", "package-0", "5000000000");
  const SensorList sensors = sensors_of(make_rapl_sensors, tree);
  const std::string energy = "cpu_energy{package=0,domain=package-0}";
  const std::string power = "cpu_power{package=0,domain=package-0}";
  const double before = read_all(sensors, 1'000 * ms).at(energy);
  std::int64_t raw = 10'000'000;
  for (std::int64_t step = 1; step <= 10; ++step, raw += 500'000) {
    tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", std::to_string(raw) + "\n");
    const Readings readings = read_all(sensors, (1'000 + step * 10) * ms);
    EXPECT_EQ(sensors[0]->trouble().find("reset") != std::string::npos, step == 1) << sensors[0]->trouble();
    if (step == 1) {
      EXPECT_TRUE(std::isnan(readings.at(energy)));
      EXPECT_EQ(readings.count(power), 0U);
    } else {
      EXPECT_NEAR(readings.at(energy) - before, 0.5 * static_cast<double>(step - 1), 1e-6);
    }
    if (readings.count(power) != 0) {
      EXPECT_NEAR(readings.at(power), 50, 1e-3);
    }
  }
}

TEST(Rapl, WhatMayNotBeReadIsSaidWithWhatToDo) {
  MachineTree tree;
  add_domain(tree, "intel-rapl:0", "package-0", "5000000");
  // A directory in the place of a file.
  tree.remove("/sys/class/powercap/intel-rapl:0/energy_uj");
  std::filesystem::create_directory(tree.at("/sys/class/powercap/intel-rapl:0/energy_uj"));
  const SensorList sensors = sensors_of(make_rapl_sensors, tree);
  EXPECT_TRUE(read_all(sensors, 1'000 * ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_NE(sensors[0]->trouble().find("/sys/class/powercap/intel-rapl:0/energy_uj"), std::string::npos);
  EXPECT_EQ(sensors[0]->advice(), "");
  tree.remove("/sys/class/powercap/intel-rapl:0/energy_uj");
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "1");
  std::filesystem::permissions(tree.root(), std::filesystem::perms(0755));
  std::filesystem::permissions(tree.at("/sys/class/powercap/intel-rapl:0/energy_uj"), std::filesystem::perms::none);
  const OrdinaryUser user;
  EXPECT_TRUE(read_all(sensors, 2'100 * ms).empty());
  EXPECT_NE(sensors[0]->trouble().find("Permission denied"), std::string::npos) << sensors[0]->trouble();
  EXPECT_NE(sensors[0]->advice().find("sudo chmod a+r"), std::string::npos) << sensors[0]->advice();
}

TEST(Rapl, WhatCouldNotBeReadIsTriedAgain) {
  MachineTree tree;
  add_domain(tree, "intel-rapl:0", "package-0", "x");
  const SensorList sensors = sensors_of(make_rapl_sensors, tree);
  EXPECT_TRUE(read_all(sensors, 1'000 * ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "6000000");
  EXPECT_EQ(read_all(sensors, 3'300 * ms).at("cpu_energy{package=0,domain=package-0}"), 6);
  EXPECT_FALSE(sensors[0]->is_unavailable());
}

TEST(Rapl, APowerOverAGapIsNotGiven) {
  MachineTree tree;
  add_domain(tree, "intel-rapl:0", "package-0", "1000000");
  add_domain(tree, "intel-rapl:1", "package-1", "1000000");
  const SensorList sensors = sensors_of(make_rapl_sensors, tree);
  const std::string power = "cpu_power{package=0,domain=package-0}";
  ASSERT_EQ(read_all(sensors, 900 * ms).count(power), 0U);
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "1500000");
  ASSERT_EQ(read_all(sensors, 1'000 * ms).count(power), 0U);
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "2500000");
  EXPECT_EQ(read_all(sensors, 1'100 * ms).at(power), 10);
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "?");
  EXPECT_TRUE(std::isnan(read_all(sensors, 1'200 * ms).at(power)));
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "4000000");
  const Readings after = read_all(sensors, 1'300 * ms);
  EXPECT_EQ(after.count(power), 0U);
  EXPECT_EQ(after.at("cpu_energy{package=0,domain=package-0}"), 4) << "no joule is lost over a gap";
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "4500000");
  EXPECT_EQ(read_all(sensors, 1'400 * ms).count(power), 0U);
  tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "5000000");
  EXPECT_EQ(read_all(sensors, 1'500 * ms).at(power), 5);
}

}  // namespace
}  // namespace kymo::sense
