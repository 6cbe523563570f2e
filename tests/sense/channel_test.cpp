// Sensors whose sources are files of one number each, and what they share: hwmon, thermal zones.
#include "sense/common/channel_sensor.hpp"

#include <gtest/gtest.h>
#include <cmath>
#include <string>

#include "sense/common/device_files.hpp"
#include "sense/machine_tree.hpp"
#include "sense/sampler/sensors.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_hwmon_sensors;
SensorMaker make_thermal_sensors;

namespace {

using test::declaration_of;
using test::MachineTree;
using test::ms;
using test::read_all;
using test::Readings;
using test::sensors_of;
using test::unplug;
using test::with;

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
  const SensorList sensors = sensors_of(make_hwmon_sensors, tree);
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
    return read_all(sensors_of(make_hwmon_sensors, tree), 1'000 * ms);
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
  const SensorList sensors = sensors_of(make_hwmon_sensors, tree);
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
  const SensorList sensors = sensors_of(make_hwmon_sensors, tree);
  EXPECT_TRUE(read_all(sensors, 1'000 * ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_NE(sensors[0]->trouble().find("/sys/class/hwmon"), std::string::npos);
}

TEST(Hwmon, ThePowerMonitorOfAJetsonsInputIsLeftToItsRails) {
  MachineTree tree;
  add_chip(tree, "platform/input", "hwmon5", "ina238");
  tree.write("/sys/devices/platform/input/hwmon/hwmon5/power1_input", "29850000\n");
  EXPECT_EQ(read_all(sensors_of(make_hwmon_sensors, tree), 1'000 * ms).at("power{chip=ina238,channel=power1}"), 29.85);
  tree.write("/proc/device-tree/compatible", std::string("nvidia,p3834-0008\0nvidia,tegra264\0", 33));
  EXPECT_TRUE(read_all(sensors_of(make_hwmon_sensors, tree), 1'000 * ms).empty());
}

TEST(Hwmon, GarbageIsAGapAndTheRestGoesOn) {
  MachineTree tree;
  add_chip(tree, "platform/a", "hwmon0", "a");
  const std::string chip = "/sys/devices/platform/a/hwmon/hwmon0/";
  tree.write(chip + "in0_input", "1000");
  tree.write(chip + "in1_input", "2000");
  const SensorList sensors = sensors_of(make_hwmon_sensors, tree);
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

TEST(Hwmon, ABatteryIsLeftToItsOwnSensor) {
  MachineTree tree;
  tree.write("/sys/devices/acpi/BAT0/type", "Battery\n");
  tree.write("/sys/class/hwmon/hwmon3/name", "BAT0\n");
  tree.write("/sys/class/hwmon/hwmon3/power1_input", "9000000\n");
  tree.link("/sys/class/hwmon/hwmon3/device", tree.at("/sys/devices/acpi/BAT0").string());
  EXPECT_TRUE(read_all(sensors_of(make_hwmon_sensors, tree), test::second).empty());
}

TEST(Hwmon, ValuesThatNothingCanHaveAreGapsAndSaid) {
  MachineTree tree;
  add_chip(tree, "platform/psu", "hwmon4", "corsairpsu");
  const std::string chip = "/sys/devices/platform/psu/hwmon/hwmon4/";
  tree.write(chip + "temp1_input", "-273200\n");
  tree.write(chip + "power1_input", "-55000000\n");
  tree.write(chip + "power2_input", "100000000000000000000000000\n");
  tree.write(chip + "fan1_input", "1210\n");
  const SensorList sensors = sensors_of(make_hwmon_sensors, tree);
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

TEST(Thermal, ZonesAreNamedByTheirType) {
  MachineTree tree;
  tree.write("/sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
  tree.write("/sys/class/thermal/thermal_zone0/temp", "48250\n");
  tree.write("/sys/class/thermal/thermal_zone2/type", "acpitz\n");
  tree.write("/sys/class/thermal/thermal_zone2/temp", "27800\n");
  tree.write("/sys/class/thermal/thermal_zone10/type", "acpitz\n");
  tree.write("/sys/class/thermal/thermal_zone10/temp", "29800\n");
  tree.write("/sys/class/thermal/cooling_device0/type", "Fan\n");
  const SensorList sensors = sensors_of(make_thermal_sensors, tree);
  EXPECT_EQ(read_all(sensors, 1'000 * ms), (Readings{{"temperature{zone=cpu-thermal}", 48.25},
                                                     {"temperature{zone=acpitz}", 27.8},
                                                     {"temperature{zone=acpitz#2}", 29.8}}));
  tree.write("/sys/class/thermal/thermal_zone0/temp", "50000\n");
  EXPECT_EQ(read_all(sensors, 2'000 * ms).at("temperature{zone=cpu-thermal}"), 50);
}

TEST(Thermal, AMachineWithoutZonesIsSaidToHaveNone) {
  MachineTree tree;
  const SensorList sensors = sensors_of(make_thermal_sensors, tree);
  EXPECT_TRUE(read_all(sensors, 1'000 * ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  tree.write("/sys/class/thermal/thermal_zone0/type", "late\n");
  tree.write("/sys/class/thermal/thermal_zone0/temp", "1000\n");
  EXPECT_EQ(read_all(sensors, 2'100 * ms).at("temperature{zone=late}"), 1);
}

}  // namespace
}  // namespace kymo::sense
