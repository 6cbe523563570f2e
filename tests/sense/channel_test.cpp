// Sensors whose sources are files of one number each: hwmon, thermal zones, RAPL, AMD's and Intel's GPUs.
#include "sense/common/channel_sensor.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <cmath>
#include <string>

#include "sense/common/device_files.hpp"
#include "sense/machine_tree.hpp"
#include "sense/sampler/sensors.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_amd_gpu_sensors;
SensorMaker make_hwmon_sensors;
SensorMaker make_intel_gpu_sensors;
SensorMaker make_rapl_sensors;
SensorMaker make_thermal_sensors;
namespace {

using test::declaration_of;
using test::MachineTree;
using test::ms;
using test::read_all;
using test::Readings;

using Make = void (*)(const SensorContext&, SensorList&);

SensorList make(Make make_sensors, const MachineTree& tree) {
  SensorList list;
  make_sensors(tree.context(), list);
  return list;
}

const Sensor& with(const SensorList& list, Tier tier) {
  for (const auto& sensor : list) {
    if (sensor->tier() == tier) {
      return *sensor;
    }
  }
  throw std::runtime_error("no sensor of this tier");
}

TEST(DeviceFiles, NumbersAreOrderedAsNumbers) {
  MachineTree tree;
  for (const char* name : {"card10", "card2", "card1", "card1-DP-1", "renderD128"}) {
    tree.write(std::string("/sys/") + name + "/x", "");
  }
  EXPECT_EQ(list_directory(tree.at("/sys")),
            (std::vector<std::string>{"card1", "card1-DP-1", "card2", "card10", "renderD128"}));
  EXPECT_TRUE(list_directory(tree.at("/nowhere")).empty());
  EXPECT_EQ(number_between("temp12_input", "temp", "_input"), 12U);
  for (const char* name : {"temp_input", "temp1_inputs", "tempx1_input", "temp1", "temp99999999999999999999_input"}) {
    EXPECT_FALSE(number_between(name, "temp", "_input")) << name;
  }
}

TEST(GrowingCounter, NeverGoesBack) {
  GrowingCounter counter(100);
  EXPECT_EQ(counter.take(90), 90);
  EXPECT_EQ(counter.take(95), 95);
  EXPECT_EQ(counter.take(5), 105);
  EXPECT_FALSE(counter.says_reset());
  GrowingCounter unbounded;
  EXPECT_EQ(unbounded.take(90), 90);
  EXPECT_EQ(unbounded.take(10), 90);
  EXPECT_TRUE(unbounded.says_reset());
  EXPECT_EQ(unbounded.take(12), 92);
}

TEST(GrowingCounter, AStepThatIsTooLongIsNoGrowth) {
  GrowingCounter counter(1'000);
  EXPECT_EQ(counter.take(500, 50), 500) << "the first value is no step";
  EXPECT_EQ(counter.take(540, 50), 540);
  EXPECT_EQ(counter.take(10, 50), 540) << "reset: a wrap would be 470";
  EXPECT_TRUE(counter.says_reset());
  EXPECT_EQ(counter.take(900, 50), 540);
  EXPECT_TRUE(counter.says_reset());
  EXPECT_EQ(counter.take(30, 200), 670) << "a wrap";
  EXPECT_FALSE(counter.says_reset());
}

/// Takes a device away: its files that are open say so, as those of sysfs do.
void unplug(const MachineTree& tree, std::string_view path) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tree.at(path))) {
    if (entry.is_regular_file()) {
      std::filesystem::resize_file(entry.path(), 0);
    }
  }
  std::filesystem::remove_all(tree.at(path));
}

// hwmon

/// A chip as sysfs shows it: a link in the class, the files below the device.
void add_chip(MachineTree& tree, const std::string& device, const std::string& hwmon, const std::string& name) {
  const std::string directory = "/sys/devices/" + device + "/hwmon/" + hwmon;
  tree.write(directory + "/name", name + "\n");
  tree.link(directory + "/device", "../..");
  tree.link("/sys/class/hwmon/" + hwmon, "../../devices/" + device + "/hwmon/" + hwmon);
}

TEST(Hwmon, ReadsEveryKindInItsUnit) {
  MachineTree tree;
  add_chip(tree, "platform/psu", "hwmon4", "corsairpsu");
  const std::string chip = "/sys/devices/platform/psu/hwmon/hwmon4/";
  tree.write(chip + "temp1_input", "41500\n");
  tree.write(chip + "temp1_label", "vrm temp\n");
  tree.write(chip + "temp2_input", "-3000\n");
  tree.write(chip + "fan1_input", "1210\n");
  tree.write(chip + "in0_input", "12034\n");
  tree.write(chip + "in0_label", "v_out +12v\n");
  tree.write(chip + "curr10_input", "2500\n");
  tree.write(chip + "power1_input", "55000000\n");
  tree.write(chip + "power1_label", "power total\n");
  tree.write(chip + "power2_average", "7000000\n");
  tree.write(chip + "power2_input", "8000000\n");
  tree.write(chip + "power2_average_interval", "250\n");
  tree.write(chip + "energy1_input", "9000000\n");
  tree.write(chip + "update_interval", "500\n");
  const SensorList sensors = make(make_hwmon_sensors, tree);
  const Readings readings = read_all(sensors, 1'000 * ms);
  EXPECT_EQ(readings, (Readings{{"temperature{chip=corsairpsu,channel=vrm temp}", 41.5},
                                {"temperature{chip=corsairpsu,channel=temp2}", -3},
                                {"fan_speed{chip=corsairpsu,channel=fan1}", 1210},
                                {"voltage{chip=corsairpsu,channel=v_out +12v}", 12.034},
                                {"current{chip=corsairpsu,channel=curr10}", 2.5},
                                {"power{chip=corsairpsu,channel=power total}", 55},
                                {"power{chip=corsairpsu,channel=power2}", 7},
                                {"energy{chip=corsairpsu,channel=energy1}", 9}}));
  const MetricDeclaration power = declaration_of(sensors, "power{chip=corsairpsu,channel=power2}");
  EXPECT_EQ(power.window_ns, 250 * ms);
  EXPECT_EQ(power.renewal_ns, 500 * ms);
  EXPECT_EQ(power.unit, "W");
  EXPECT_EQ(power.source, "/sys/class/hwmon/hwmon4/power2_average");
  EXPECT_EQ(declaration_of(sensors, "energy{chip=corsairpsu,channel=energy1}").kind, MetricKind::energy_counter);
  EXPECT_EQ(with(sensors, Tier::slow).metrics().size(), 3U);
}

TEST(Hwmon, ChipsAreNamedByWhatTheyAreWhateverNumbersTheyGet) {
  const auto readings_with = [](const std::string& first, const std::string& second, const std::string& third) {
    MachineTree tree;
    add_chip(tree, "pci0/nvme0", first, "nvme");
    tree.write("/sys/devices/pci0/nvme0/hwmon/" + first + "/temp1_input", "30000");
    add_chip(tree, "pci0/nvme1", second, "nvme");
    tree.write("/sys/devices/pci0/nvme1/hwmon/" + second + "/temp1_input", "31000");
    add_chip(tree, "platform/coretemp.0", third, "coretemp");
    tree.write("/sys/devices/platform/coretemp.0/hwmon/" + third + "/temp1_input", "50000");
    return read_all(make(make_hwmon_sensors, tree), 1'000 * ms);
  };
  const Readings expected{{"temperature{chip=nvme@nvme0,channel=temp1}", 30},
                          {"temperature{chip=nvme@nvme1,channel=temp1}", 31},
                          {"temperature{chip=coretemp,channel=temp1}", 50}};
  EXPECT_EQ(readings_with("hwmon0", "hwmon1", "hwmon2"), expected);
  EXPECT_EQ(readings_with("hwmon7", "hwmon0", "hwmon10"), expected);
}

TEST(Hwmon, AChipThatComesBackUnderAnotherNumberIsTheSame) {
  MachineTree tree;
  add_chip(tree, "platform/a", "hwmon0", "a");
  tree.write("/sys/devices/platform/a/hwmon/hwmon0/temp1_input", "10000");
  add_chip(tree, "platform/b", "hwmon1", "b");
  tree.write("/sys/devices/platform/b/hwmon/hwmon1/temp1_input", "20000");
  const SensorList sensors = make(make_hwmon_sensors, tree);
  ASSERT_EQ(read_all(sensors, 1'000 * ms).size(), 2U);
  unplug(tree, "/sys/devices/platform/b/hwmon/hwmon1");
  tree.remove("/sys/class/hwmon/hwmon1");
  EXPECT_EQ(read_all(sensors, 1'500 * ms).at("temperature{chip=a,channel=temp1}"), 10);
  const Sensor& slow = with(sensors, Tier::slow);
  EXPECT_EQ(slow.metrics().size(), 2U);
  EXPECT_NE(slow.trouble().find("No such file"), std::string::npos) << slow.trouble();
  add_chip(tree, "platform/b", "hwmon5", "b");
  tree.write("/sys/devices/platform/b/hwmon/hwmon5/temp1_input", "21000");
  EXPECT_EQ(read_all(sensors, 2'600 * ms).at("temperature{chip=b,channel=temp1}"), 21);
  EXPECT_EQ(slow.metrics().size(), 2U);
  EXPECT_TRUE(slow.trouble().empty()) << slow.trouble();
}

TEST(Hwmon, ChipsOfOtherSensorsAreLeftOut) {
  MachineTree tree;
  for (const char* name : {"ina3221", "amdgpu", "i915", "xe"}) {
    add_chip(tree, std::string("platform/") + name, std::string("hwmon_") + name, name);
    tree.write(std::string("/sys/devices/platform/") + name + "/hwmon/hwmon_" + name + "/temp1_input", "1000");
  }
  const SensorList sensors = make(make_hwmon_sensors, tree);
  EXPECT_TRUE(read_all(sensors, 1'000 * ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_NE(sensors[0]->trouble().find("/sys/class/hwmon"), std::string::npos);
}

TEST(Hwmon, GarbageIsAGapAndTheRestGoesOn) {
  MachineTree tree;
  add_chip(tree, "platform/a", "hwmon0", "a");
  const std::string chip = "/sys/devices/platform/a/hwmon/hwmon0/";
  tree.write(chip + "in0_input", "1000");
  tree.write(chip + "in1_input", "2000");
  const SensorList sensors = make(make_hwmon_sensors, tree);
  EXPECT_EQ(read_all(sensors, 1'000 * ms).at("voltage{chip=a,channel=in0}"), 1);
  std::int64_t now = 1'000 * ms;
  for (const char* garbage : {"", "x", "12 13", "1e5000", "nan", "0x12", "\xFF\xFE", "--3"}) {
    tree.write(chip + "in0_input", garbage);
    tree.write(chip + "in1_input", "2500");
    const Readings readings = read_all(sensors, now += 10 * ms);
    EXPECT_TRUE(readings.count("voltage{chip=a,channel=in0}") == 0 ||
                std::isnan(readings.at("voltage{chip=a,channel=in0}")))
        << garbage;
    EXPECT_EQ(readings.at("voltage{chip=a,channel=in1}"), 2.5);
  }
  EXPECT_NE(sensors[0]->trouble().find("in0_input"), std::string::npos) << sensors[0]->trouble();
  tree.write(chip + "in0_input", "1100");
  EXPECT_EQ(read_all(sensors, now += 10 * ms).at("voltage{chip=a,channel=in0}"), 1.1);
  EXPECT_TRUE(sensors[0]->trouble().empty());
}

// Thermal zones

TEST(Hwmon, ABatteryIsLeftToItsOwnSensor) {
  MachineTree tree;
  tree.write("/sys/devices/acpi/BAT0/type", "Battery\n");
  tree.write("/sys/class/hwmon/hwmon3/name", "BAT0\n");
  tree.write("/sys/class/hwmon/hwmon3/power1_input", "9000000\n");
  tree.link("/sys/class/hwmon/hwmon3/device", tree.at("/sys/devices/acpi/BAT0").string());
  EXPECT_TRUE(read_all(make(make_hwmon_sensors, tree), test::second).empty());
}

TEST(Thermal, ZonesAreNamedByTheirType) {
  MachineTree tree;
  tree.write("/sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
  tree.write("/sys/class/thermal/thermal_zone0/temp", "48250\n");
  tree.write("/sys/class/thermal/thermal_zone2/type", "acpitz\n");
  tree.write("/sys/class/thermal/thermal_zone2/temp", "27800\n");
  tree.write("/sys/class/thermal/thermal_zone10/type", "acpitz\n");
  tree.write("/sys/class/thermal/thermal_zone10/temp", "29800\n");
  tree.write("/sys/class/thermal/cooling_device0/type", "Fan\n");
  const SensorList sensors = make(make_thermal_sensors, tree);
  EXPECT_EQ(read_all(sensors, 1'000 * ms), (Readings{{"temperature{zone=cpu-thermal}", 48.25},
                                                     {"temperature{zone=acpitz}", 27.8},
                                                     {"temperature{zone=acpitz#2}", 29.8}}));
  tree.write("/sys/class/thermal/thermal_zone0/temp", "50000\n");
  EXPECT_EQ(read_all(sensors, 2'000 * ms).at("temperature{zone=cpu-thermal}"), 50);
}

TEST(Thermal, AMachineWithoutZonesIsSaidToHaveNone) {
  MachineTree tree;
  const SensorList sensors = make(make_thermal_sensors, tree);
  EXPECT_TRUE(read_all(sensors, 1'000 * ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  tree.write("/sys/class/thermal/thermal_zone0/type", "late\n");
  tree.write("/sys/class/thermal/thermal_zone0/temp", "1000\n");
  EXPECT_EQ(read_all(sensors, 2'100 * ms).at("temperature{zone=late}"), 1);
}

// RAPL

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
  const SensorList sensors = make(make_rapl_sensors, tree);
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
  const SensorList sensors = make(make_rapl_sensors, tree);
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
  const SensorList sensors = make(make_rapl_sensors, tree);
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
  const SensorList sensors = make(make_rapl_sensors, tree);
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

TEST(Hwmon, ValuesThatNothingCanHaveAreGapsAndSaid) {
  MachineTree tree;
  add_chip(tree, "platform/psu", "hwmon4", "corsairpsu");
  const std::string chip = "/sys/devices/platform/psu/hwmon/hwmon4/";
  tree.write(chip + "temp1_input", "-273200\n");
  tree.write(chip + "power1_input", "-55000000\n");
  tree.write(chip + "power2_input", "100000000000000000000000000\n");
  tree.write(chip + "fan1_input", "1210\n");
  const SensorList sensors = make(make_hwmon_sensors, tree);
  std::size_t troubled = 0;
  for (const auto& [key, value] : read_all(sensors, 1'000 * ms)) {
    EXPECT_EQ(value, 1210) << key;
  }
  for (const auto& sensor : sensors) {
    troubled += sensor->trouble().find("nothing can have") != std::string::npos ? 1U : 0U;
  }
  EXPECT_GT(troubled, 0U);
  tree.write(chip + "temp1_input", "41500\n");
  tree.write(chip + "power1_input", "55000000\n");
  tree.write(chip + "power2_input", "1000000\n");
  EXPECT_GE(read_all(sensors, 3'000 * ms).size(), 4U);
  for (const auto& sensor : sensors) {
    EXPECT_EQ(sensor->trouble().find("nothing can have"), std::string::npos) << sensor->trouble();
  }
}

TEST(Rapl, WhatMayNotBeReadIsSaidWithWhatToDo) {
  MachineTree tree;
  add_domain(tree, "intel-rapl:0", "package-0", "5000000");
  // A directory in the place of a file.
  tree.remove("/sys/class/powercap/intel-rapl:0/energy_uj");
  std::filesystem::create_directory(tree.at("/sys/class/powercap/intel-rapl:0/energy_uj"));
  const SensorList sensors = make(make_rapl_sensors, tree);
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
  const SensorList sensors = make(make_rapl_sensors, tree);
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
  const SensorList sensors = make(make_rapl_sensors, tree);
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

// GPUs

void add_card(MachineTree& tree, const std::string& card, const std::string& address, const std::string& vendor) {
  tree.write("/sys/devices/pci0000:00/" + address + "/vendor", vendor + "\n");
  tree.write("/sys/devices/pci0000:00/" + address + "/drm/" + card + "/dev", "226:0\n");
  tree.link("/sys/devices/pci0000:00/" + address + "/drm/" + card + "/device", "../..");
  tree.link("/sys/class/drm/" + card, "../../devices/pci0000:00/" + address + "/drm/" + card);
}

void add_amd_gpu(MachineTree& tree, const std::string& card, const std::string& address, const std::string& hwmon) {
  add_card(tree, card, address, "0x1002");
  const std::string device = "/sys/devices/pci0000:00/" + address + "/";
  tree.write(device + "gpu_busy_percent", "37\n");
  tree.write(device + "mem_info_vram_used", "1073741824\n");
  tree.write(device + "mem_info_vram_total", "17163091968\n");
  tree.write(device + "hwmon/" + hwmon + "/name", "amdgpu\n");
  tree.write(device + "hwmon/" + hwmon + "/power1_average", "91000000\n");
  tree.write(device + "hwmon/" + hwmon + "/temp1_input", "54000\n");
  tree.write(device + "hwmon/" + hwmon + "/freq1_input", "2451000000\n");
}

TEST(AmdGpu, GivesLoadMemoryPowerHeatAndClock) {
  MachineTree tree;
  add_card(tree, "card0", "0000:00:02.0", "0x8086");
  add_amd_gpu(tree, "card1", "0000:03:00.0", "hwmon6");
  add_amd_gpu(tree, "card10", "0000:0a:00.0", "hwmon2");
  tree.write("/sys/class/drm/card1-DP-1/status", "connected\n");
  tree.remove("/sys/devices/pci0000:00/0000:0a:00.0/hwmon/hwmon2/power1_average");
  tree.write("/sys/devices/pci0000:00/0000:0a:00.0/hwmon/hwmon2/power1_input", "12000000\n");
  tree.write("/sys/devices/pci0000:00/0000:0a:00.0/gpu_busy_percent", "99\n");
  const SensorList sensors = make(make_amd_gpu_sensors, tree);
  const Readings readings = read_all(sensors, 1'000 * ms);
  const std::string first = "{gpu=0,vendor=amd,device=0000:03:00.0}";
  const std::string second = "{gpu=1,vendor=amd,device=0000:0a:00.0}";
  EXPECT_EQ(readings.size(), 12U);
  EXPECT_EQ(readings.at("gpu_util" + first), 37);
  EXPECT_EQ(readings.at("gpu_mem" + first), 1073741824);
  EXPECT_EQ(readings.at("gpu_mem_total" + first), 17163091968);
  EXPECT_EQ(readings.at("gpu_power" + first), 91);
  EXPECT_EQ(readings.at("gpu_temp" + first), 54);
  EXPECT_NEAR(readings.at("gpu_clock" + first), 2451, 1e-9);
  EXPECT_EQ(readings.at("gpu_util" + second), 99);
  EXPECT_EQ(readings.at("gpu_power" + second), 12);
  EXPECT_EQ(with(sensors, Tier::fast).metrics().size(), 2U);
  EXPECT_EQ(declaration_of(sensors, "gpu_clock" + first).unit, "MHz");
}

TEST(AmdGpu, AGpuThatFallsOffTheBusIsAGapUntilItIsBack) {
  MachineTree tree;
  add_amd_gpu(tree, "card0", "0000:03:00.0", "hwmon6");
  const SensorList sensors = make(make_amd_gpu_sensors, tree);
  const std::string util = "gpu_util{gpu=0,vendor=amd,device=0000:03:00.0}";
  const std::string heat = "gpu_temp{gpu=0,vendor=amd,device=0000:03:00.0}";
  EXPECT_EQ(read_all(sensors, 1'000 * ms).at(util), 37);
  unplug(tree, "/sys/devices/pci0000:00/0000:03:00.0");
  tree.remove("/sys/class/drm/card0");
  const Readings gone = read_all(sensors, 1'100 * ms);
  EXPECT_TRUE(std::isnan(gone.at(util)));
  EXPECT_TRUE(std::isnan(gone.at(heat)));
  EXPECT_TRUE(sensors[0]->is_unavailable());
  add_amd_gpu(tree, "card1", "0000:03:00.0", "hwmon9");
  const Readings back = read_all(sensors, 3'000 * ms);
  EXPECT_EQ(back.at(util), 37);
  EXPECT_EQ(back.at(heat), 54);
  EXPECT_EQ(sensors[0]->metrics().size(), 1U);
}

TEST(IntelGpu, GivesEnergyPowerAndClock) {
  struct Driver {
    const char* clock_file;
    const char* hwmon_name;
  };
  for (const Driver driver :
       {Driver{"drm/card0/gt_act_freq_mhz", "i915"}, Driver{"drm/card0/gt/gt0/rps_act_freq_mhz", "i915"},
        Driver{"tile0/gt0/freq0/act_freq", "xe"}}) {
    MachineTree tree;
    add_card(tree, "card0", "0000:03:00.0", "0x8086");
    const std::string device = "/sys/devices/pci0000:00/0000:03:00.0/";
    tree.write(device + driver.clock_file, "2050\n");
    tree.write(device + "hwmon/hwmon3/name", std::string(driver.hwmon_name) + "\n");
    tree.write(device + "hwmon/hwmon3/energy1_input", "8000000\n");
    const SensorList sensors = make(make_intel_gpu_sensors, tree);
    const std::string labels = "{gpu=0,vendor=intel,device=0000:03:00.0}";
    EXPECT_EQ(read_all(sensors, 900 * ms), (Readings{{"gpu_energy" + labels, 8}, {"gpu_clock" + labels, 2050}}));
    tree.write(device + "hwmon/hwmon3/energy1_input", "9000000\n");
    EXPECT_EQ(read_all(sensors, 1'000 * ms), (Readings{{"gpu_energy" + labels, 9}, {"gpu_clock" + labels, 2050}}));
    tree.write(device + "hwmon/hwmon3/energy1_input", "12000000\n");
    tree.write(device + driver.clock_file, "300\n");
    EXPECT_EQ(read_all(sensors, 1'100 * ms),
              (Readings{{"gpu_energy" + labels, 12}, {"gpu_power" + labels, 30}, {"gpu_clock" + labels, 300}}));
    EXPECT_EQ(declaration_of(sensors, "gpu_energy" + labels).kind, MetricKind::energy_counter);
    EXPECT_EQ(declaration_of(sensors, "gpu_power" + labels).unit, "W");
  }
}

}  // namespace
}  // namespace kymo::sense
