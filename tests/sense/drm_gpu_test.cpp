// AMD's and Intel's GPUs, as sysfs shows them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_amd_gpu_sensors;
SensorMaker make_intel_gpu_sensors;

namespace {

using test::declaration_of;
using test::MachineTree;
using test::ms;
using test::read_all;
using test::Readings;
using test::sensors_of;
using test::unplug;
using test::with;

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
  const SensorList sensors = sensors_of(make_amd_gpu_sensors, tree);
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

std::map<std::string, std::string> facts_of(const SensorList& sensors) {
  std::map<std::string, std::string> facts;
  for (const auto& sensor : sensors) {
    facts.insert(sensor->facts().begin(), sensor->facts().end());
  }
  return facts;
}

TEST(AmdGpu, NameDriverAndPowerLimitAreFactsOfTheRun) {
  MachineTree tree;
  add_amd_gpu(tree, "card0", "0000:03:00.0", "hwmon6");
  add_amd_gpu(tree, "card1", "0000:0a:00.0", "hwmon2");
  add_amd_gpu(tree, "card2", "0000:0b:00.0", "hwmon3");
  const std::string pci = "/sys/devices/pci0000:00/";
  tree.write(pci + "0000:03:00.0/device", "0x744c\n");
  tree.write(pci + "0000:03:00.0/hwmon/hwmon6/power1_cap", "327000000\n");
  tree.write(pci + "0000:0a:00.0/product_name", "AMD INSTINCT MI100\n");
  tree.write(pci + "0000:0a:00.0/device", "0x738c\n");
  tree.write(pci + "0000:0b:00.0/device", "0x1234\n");
  tree.write("/sys/bus/pci/drivers/amdgpu/module", "");
  tree.link(pci + "0000:03:00.0/driver", tree.at("/sys/bus/pci/drivers/amdgpu").string());
  tree.write("/sys/module/amdgpu/version", "6.10.5\n");
  // As lspci's list has them: a subsystem's line and another vendor's device of the same number are not it.
  tree.write(
      "/usr/share/misc/pci.ids",
      "# list\n1001  Other\n\t744c  Other's\n1002  Advanced Micro Devices, Inc. [AMD/ATI]\n"
      "\t744b  Navi 30\n\t\t744c 0001  Board\n\t744c  Navi 31 [Radeon RX 7900 XTX]\n1003  Next\n\t1234  Next's\n");
  const SensorList sensors = sensors_of(make_amd_gpu_sensors, tree);
  (void)read_all(sensors, 1'000 * ms);
  const std::map<std::string, std::string> expected{{"gpu.amd.0.name", "Navi 31 [Radeon RX 7900 XTX]"},
                                                    {"gpu.amd.0.driver", "amdgpu 6.10.5"},
                                                    {"gpu.amd.0.power_limit", "327 W"},
                                                    {"gpu.amd.1.name", "AMD INSTINCT MI100"},
                                                    {"gpu.amd.2.name", "1002:1234"}};
  EXPECT_EQ(facts_of(sensors), expected);
  tree.remove("/sys/class/drm/card2");
  (void)read_all(sensors, 3'000 * ms);
  EXPECT_EQ(facts_of(sensors), expected) << "each is told once";
}

TEST(AmdGpu, AGpuThatFallsOffTheBusIsAGapUntilItIsBack) {
  MachineTree tree;
  add_amd_gpu(tree, "card0", "0000:03:00.0", "hwmon6");
  const SensorList sensors = sensors_of(make_amd_gpu_sensors, tree);
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
    tree.write(device + "device", "0x46a6\n");
    tree.write(device + "hwmon/hwmon3/power1_max", "35500000\n");
    tree.write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    tree.write(std::string("/sys/bus/pci/drivers/") + driver.hwmon_name + "/module", "");
    tree.link(device + "driver", tree.at(std::string("/sys/bus/pci/drivers/") + driver.hwmon_name).string());
    const std::string driver_text = std::string(driver.hwmon_name) + " 6.1.0-18-amd64";
    const SensorList sensors = sensors_of(make_intel_gpu_sensors, tree);
    const std::string labels = "{gpu=0,vendor=intel,device=0000:03:00.0}";
    EXPECT_EQ(read_all(sensors, 900 * ms), (Readings{{"gpu_energy" + labels, 8}, {"gpu_clock" + labels, 2050}}));
    tree.write(device + "hwmon/hwmon3/energy1_input", "9000000\n");
    EXPECT_EQ(read_all(sensors, 1'000 * ms), (Readings{{"gpu_energy" + labels, 9}, {"gpu_clock" + labels, 2050}}));
    tree.write(device + "hwmon/hwmon3/energy1_input", "12000000\n");
    tree.write(device + driver.clock_file, "300\n");
    EXPECT_EQ(read_all(sensors, 1'100 * ms),
              (Readings{{"gpu_energy" + labels, 12}, {"gpu_power" + labels, 30}, {"gpu_clock" + labels, 300}}));
    EXPECT_EQ(facts_of(sensors), (std::map<std::string, std::string>{{"gpu.intel.0.name", "8086:46a6"},
                                                                     {"gpu.intel.0.driver", driver_text},
                                                                     {"gpu.intel.0.power_limit", "35.5 W"}}));
    EXPECT_EQ(declaration_of(sensors, "gpu_energy" + labels).kind, MetricKind::energy_counter);
    EXPECT_EQ(declaration_of(sensors, "gpu_power" + labels).unit, "W");
  }
}

}  // namespace
}  // namespace kymo::sense
