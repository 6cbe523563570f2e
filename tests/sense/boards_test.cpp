// Boards: what is found of a machine, however its kernel numbers things.
#include <gtest/gtest.h>

#include <array>

#include <kymo/board.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "jetson_tree.hpp"
#include "sense/jetson/boards.hpp"

namespace kymo::test {
namespace {

std::vector<std::string> labels(const BoardConfig& board) {
  std::vector<std::string> result;
  for (const PowerRail& rail : board.power_rails) {
    result.push_back(rail.label);
  }
  return result;
}

std::vector<std::string> zones(const BoardConfig& board) {
  std::vector<std::string> result;
  for (const ThermalZone& zone : board.thermal_zones) {
    result.push_back(zone.name);
  }
  return result;
}

std::string what_is_thrown(const MachineTree& tree) {
  try {
    (void)detect_board(tree.root());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(Boards, AgxOrinIsFoundWithItsRailsByAddressAndItsZonesByType) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const JetsonTree tree(agx_orin_model(), seed);
    const BoardConfig board = detect_board(tree.root());
    EXPECT_EQ(board.board_name, "agx_orin");
    EXPECT_EQ(board.num_cpu_cores, 12U);
    EXPECT_EQ(board.gpu_load_path, tree.at("/sys/devices/platform/bus@0/17000000.gpu/load"));
    EXPECT_EQ(board.emc_actmon_path, tree.at("/sys/kernel/debug/cactmon/mc_all"));
    EXPECT_EQ(board.emc_clk_rate_path, tree.at("/sys/kernel/debug/clk/emc/clk_rate"));
    EXPECT_EQ(labels(board), (std::vector<std::string>{"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO",
                                                       "EXTRA_SENSOR_RAIL"}));
    for (const PowerRail& rail : board.power_rails) {
      EXPECT_EQ(rail.voltage_path, tree.at(tree.channel(rail.label).voltage_path));
      EXPECT_EQ(rail.current_path, tree.at(tree.channel(rail.label).current_path));
      EXPECT_FALSE(rail.is_total) << rail.label;
    }
    EXPECT_EQ(zones(board), agx_orin_model().zones);
    for (const ThermalZone& zone : board.thermal_zones) {
      EXPECT_EQ(zone.temp_path, tree.at(tree.zone(zone.name) + "/temp"));
    }
  }
}

TEST(Boards, TheWholeModulesRailIsATotal) {
  const JetsonTree tree(orin_nx_model(), 7);
  const BoardConfig board = detect_board(tree.root());
  EXPECT_EQ(board.board_name, "orin_nx");
  EXPECT_EQ(board.num_cpu_cores, 8U);
  ASSERT_EQ(labels(board), (std::vector<std::string>{"VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC", "CARRIER_3V3"}));
  EXPECT_TRUE(board.power_rails[0].is_total);
  EXPECT_FALSE(board.power_rails[1].is_total);
  EXPECT_FALSE(board.power_rails[2].is_total);
  EXPECT_EQ(zones(board), orin_nx_model().zones);
}

TEST(Boards, OrinNanoIsToldFromOrinNxByItsPart) {
  for (const std::string part : {"p3767-0003", "p3767-0004", "p3767-0005"}) {
    const BoardConfig board = detect_board(JetsonTree(orin_nano_model(part)).root());
    EXPECT_EQ(board.board_name, "orin_nano") << part;
    EXPECT_EQ(board.num_cpu_cores, 6U) << part;
  }
  for (const std::string part : {"p3767-0000", "p3767-0001"}) {
    EXPECT_EQ(detect_board(JetsonTree(orin_nano_model(part)).root()).board_name, "orin_nx") << part;
  }
}

TEST(Boards, EveryModuleIsKnownByItsDeviceTree) {
  struct Case {
    std::vector<std::string> compatible;
    std::string name;
    unsigned cores;
    std::string gpu_load;
  };
  // As in the device trees of Linux, and of NVIDIA's releases.
  const std::vector<Case> cases{
      {{"nvidia,p4071-0000+p3834-0008", "nvidia,p3834-0008", "nvidia,tegra264"}, "agx_thor", 14, ""},
      {{"nvidia,p3834", "nvidia,tegra264"}, "agx_thor", 14, ""},
      {{"nvidia,p2972-0000", "nvidia,tegra194"}, "agx_xavier", 8, "/sys/devices/17000000.gv11b/load"},
      {{"nvidia,p2888", "nvidia,tegra194"}, "agx_xavier", 8, "/sys/devices/gpu.0/load"},
      {{"nvidia,p3509-0000+p3668-0000", "nvidia,tegra194"}, "xavier_nx", 6, "/sys/devices/17000000.gv11b/load"},
      {{"nvidia,p2771-0000", "nvidia,p3310", "nvidia,tegra186"}, "tx2", 6, "/sys/devices/17000000.gp10b/load"},
      {{"nvidia,p3509-0000+p3636-0001", "nvidia,tegra186"}, "tx2", 6, "/sys/devices/gpu.0/load"},
      {{"nvidia,p3450-0000", "nvidia,tegra210"}, "nano", 4, "/sys/devices/57000000.gpu/load"},
      {{"nvidia,p3449-0000-b00+p3448-0000-b00", "nvidia,jetson-nano", "nvidia,tegra210"},
       "nano",
       4,
       "/sys/devices/gpu.0/load"},
  };
  for (const Case& each : cases) {
    MachineTree tree;
    tree.write("/proc/device-tree/compatible", compatible_of(each.compatible));
    if (!each.gpu_load.empty()) {
      tree.write(each.gpu_load, "0\n");
    }
    const BoardConfig board = detect_board(tree.root());
    EXPECT_EQ(board.board_name, each.name) << each.compatible.front();
    EXPECT_EQ(board.num_cpu_cores, each.cores) << each.name;
    EXPECT_EQ(board.gpu_load_path, each.gpu_load.empty() ? "" : tree.at(each.gpu_load).string()) << each.name;
  }
}

TEST(Boards, ThorsInputHasAChipOfItsOwnAndIsATotal) {
  MachineTree tree;
  tree.write("/proc/device-tree/compatible",
             compatible_of({"nvidia,p4071-0000+p3834-0008", "nvidia,p3834-0008", "nvidia,tegra264"}));
  // As published of a developer kit with JetPack 7: the rails' sum and the shunts' voltages are no rails.
  const std::string rails = "/sys/bus/i2c/drivers/ina3221/2-0040/hwmon/hwmon6/";
  const std::vector<std::array<std::string, 3>> channels{
      {"VDD_GPU", "12040", "640"}, {"VDD_CPU_SOC_MSS", "12040", "960"}, {"VIN_SYS_5V0", "5088", "1740"}};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    tree.write(rails + "in" + number + "_label", channels[i][0] + "\n");
    tree.write(rails + "in" + number + "_input", channels[i][1] + "\n");
    tree.write(rails + "curr" + number + "_input", channels[i][2] + "\n");
  }
  tree.write(rails + "in7_label", "sum of shunt voltages\n");
  tree.write(rails + "in7_input", "12\n");
  const std::string input = "/sys/bus/i2c/drivers/ina238/2-0044/hwmon/hwmon7/";
  tree.write(input + "in0_input", "4\n");
  tree.write(input + "in1_input", "19900\n");
  tree.write(input + "curr1_input", "1500\n");
  tree.write(input + "power1_input", "29850000\n");
  unsigned zone = 0;
  for (const std::string name : {"tj", "gpu", "soc345", "cpu", "soc012"}) {
    tree.write("/sys/class/thermal/thermal_zone" + std::to_string(zone++) + "/type", name + "-thermal\n");
  }
  BoardConfig board = detect_board(tree.root());
  ASSERT_EQ(labels(board), (std::vector<std::string>{"VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0", "VIN"}));
  EXPECT_EQ(board.power_rails[3].voltage_path, tree.at(input + "in1_input"));
  EXPECT_EQ(board.power_rails[3].current_path, tree.at(input + "curr1_input"));
  EXPECT_TRUE(board.power_rails[3].is_total);
  EXPECT_FALSE(board.power_rails[2].is_total);
  EXPECT_EQ(zones(board),
            (std::vector<std::string>{"cpu-thermal", "gpu-thermal", "soc012-thermal", "soc345-thermal", "tj-thermal"}));
  tree.write(input + "label", "VIN_CARRIER\n");
  board = detect_board(tree.root());
  EXPECT_EQ(labels(board).back(), "VIN_CARRIER");
  tree.remove("/proc/device-tree");
  board = detect_board(tree.root());
  EXPECT_EQ(labels(board).back(), "VIN_SYS_5V0") << "on another machine such a chip measures anything";
}

TEST(Boards, RailsOfNvidiasOldDriverAreFound) {
  MachineTree tree;
  tree.write("/proc/device-tree/compatible", compatible_of({"nvidia,p2771-0000", "nvidia,tegra186"}));
  const auto add = [&tree](const std::string& chip, unsigned channel, const std::string& label) {
    const std::string directory = "/sys/bus/i2c/drivers/ina3221x/" + chip + "/";
    const std::string number = std::to_string(channel);
    tree.write(directory + "rail_name_" + number, label + "\n");
    tree.write(directory + "in_voltage" + number + "_input", "19000\n");
    tree.write(directory + "in_current" + number + "_input", "250\n");
  };
  add("0-0041/iio:device1", 0, "VDD_IN");
  add("0-0041/iio:device1", 1, "VDD_SYS_CPU");
  add("0-0040/iio:device0", 0, "VDD_SYS_GPU");
  add("0-0040/iio:device0", 2, "NC");
  const BoardConfig board = detect_board(tree.root());
  ASSERT_EQ(labels(board), (std::vector<std::string>{"VDD_SYS_GPU", "VDD_IN", "VDD_SYS_CPU"}));
  EXPECT_EQ(board.power_rails[1].voltage_path,
            tree.at("/sys/bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_voltage0_input"));
  EXPECT_EQ(board.power_rails[1].current_path,
            tree.at("/sys/bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_current0_input"));
  EXPECT_TRUE(board.power_rails[1].is_total);
  EXPECT_FALSE(board.power_rails[2].is_total);
}

TEST(Boards, OtherBoardsHaveRailsAndZonesAnywhere) {
  const MachineTree laptop;
  const std::vector<std::pair<std::string, std::vector<std::string>>> rails{
      {"agx_thor", {"VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0"}},
      {"agx_xavier", {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}},
      {"xavier_nx", {"VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"}},
      {"tx2", {"VDD_SYS_GPU", "VDD_SYS_SOC", "VDD_4V0_WIFI", "VDD_IN", "VDD_SYS_CPU", "VDD_SYS_DDR"}},
      {"nano", {"POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"}}};
  for (const auto& [name, expected] : rails) {
    const BoardConfig board = get_board_config(name, laptop.root());
    EXPECT_EQ(labels(board), expected) << name;
    EXPECT_GE(zones(board).size(), 4U) << name;
  }
  const BoardConfig nano = get_board_config("nano", laptop.root());
  EXPECT_EQ(nano.power_rails[1].current_path,
            laptop.root() + "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/in_current1_input");
  EXPECT_EQ(get_board_config("xavier_nx", laptop.root()).power_rails[2].voltage_path,
            laptop.root() + "/sys/bus/i2c/drivers/ina3221/7-0040/hwmon/hwmon3/in3_input");
}

TEST(Boards, TheReleaseIsThatOfTheFileForIt) {
  MachineTree tree;
  EXPECT_EQ(sense::describe_release(tree.root()), "");
  const std::string path = "/etc/nv_tegra_release";
  tree.write(path, "# R36 (release), REVISION: 3.0, GCID: 36923193, BOARD: generic, EABI: aarch64, DATE: Fri Jul 19\n");
  EXPECT_EQ(sense::describe_release(tree.root()), "36.3.0");
  tree.write(path, "# R32 (release), REVISION: 7.1, GCID: 29818004, BOARD: t210ref\n");
  EXPECT_EQ(sense::describe_release(tree.root()), "32.7.1");
  for (const char* const text : {"", "# R36", "R36, REVISION: 3.0", "# R36, REVISION: x", "# Rx, REVISION: 3.0"}) {
    tree.write(path, text);
    EXPECT_EQ(sense::describe_release(tree.root()), "") << text;
  }
}

TEST(Boards, AConfigurationMadeElsewhereHasAllRailsAndZonesOfTheBoard) {
  MachineTree laptop;
  laptop.write("/sys/class/thermal/thermal_zone0/type", "acpitz\n");
  const JetsonTree other(orin_nx_model());
  for (const std::string& root : {laptop.root(), other.root()}) {
    const BoardConfig board = get_board_config("agx_orin", root);
    EXPECT_EQ(board.num_cpu_cores, 12U);
    EXPECT_EQ(labels(board), (std::vector<std::string>{"VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO"}));
    EXPECT_EQ(board.power_rails[3].current_path, root + "/sys/bus/i2c/drivers/ina3221/1-0041/hwmon/hwmon4/curr2_input");
  }
  const BoardConfig agx = get_board_config("agx_orin", laptop.root());
  EXPECT_EQ(zones(agx), agx_orin_model().zones);
  EXPECT_EQ(agx.thermal_zones[10].temp_path, laptop.at("/sys/class/thermal/thermal_zone10/temp"));
  for (const char* const name : {"orin_nx", "orin_nano"}) {
    const BoardConfig board = get_board_config(name, laptop.root());
    EXPECT_EQ(labels(board), (std::vector<std::string>{"VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"})) << name;
    EXPECT_TRUE(board.power_rails[0].is_total);
    EXPECT_EQ(zones(board), orin_nx_model().zones) << name;
  }
  EXPECT_TRUE(get_board_config("generic", laptop.root()).power_rails.empty());
}

TEST(Boards, ABoardHasTheCoresThatAreOnline) {
  JetsonTree tree(agx_orin_model());
  tree.write("/sys/devices/system/cpu/present", "0-11\n");
  tree.write("/proc/stat",
             "cpu  4 0 0 9 0 0 0 0 0 0\ncpu0 1 0 0 2 0 0 0 0 0 0\ncpu1 1 0 0 2 0 0 0 0 0 0\n"
             "cpu4 1 0 0 3 0 0 0 0 0 0\ncpu5 1 0 0 2 0 0 0 0 0 0\nintr 5 cpu\n");
  EXPECT_EQ(detect_board(tree.root()).num_cpu_cores, 4U);
}

TEST(Boards, AModuleWithFewerCoresThanItsKindHasThoseThatArePresent) {
  JetsonTree tree(agx_orin_model());
  tree.write("/sys/devices/system/cpu/present", "0-7\n");
  EXPECT_EQ(detect_board(tree.root()).num_cpu_cores, 8U);
  EXPECT_EQ(get_board_config("agx_orin", tree.root()).num_cpu_cores, 12U);
}

TEST(Boards, AnUnknownBoardIsAnErrorThatNamesItAndTheKnownOnes) {
  MachineTree tree;
  tree.write("/proc/device-tree/compatible", compatible_of({"raspberrypi,4-model-b", "brcm,bcm2711"}));
  const std::string text = what_is_thrown(tree);
  for (const char* const part : {"raspberrypi,4-model-b", "brcm,bcm2711", "agx_orin", "orin_nx", "orin_nano",
                                 "agx_thor", "agx_xavier", "xavier_nx", "tx2", "nano", "generic"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_THROW((void)get_board_config("tx3", tree.root()), std::runtime_error);
}

TEST(Boards, AMachineWithoutADeviceTreeIsGeneric) {
  MachineTree tree;
  tree.write("/sys/devices/system/cpu/present", "0-2,5\n");
  tree.write("/sys/class/thermal/thermal_zone10/type", "x86_pkg_temp\n");
  tree.write("/sys/class/thermal/thermal_zone2/type", "acpitz\n");
  tree.write("/sys/class/thermal/thermal_zone3/type", "acpitz\n");
  const BoardConfig board = detect_board(tree.root() + "/");
  EXPECT_EQ(board.board_name, "generic");
  EXPECT_EQ(board.num_cpu_cores, 4U);
  EXPECT_EQ(board.gpu_load_path, "");
  EXPECT_EQ(board.emc_actmon_path, "");
  EXPECT_TRUE(board.power_rails.empty());
  EXPECT_EQ(zones(board), (std::vector<std::string>{"acpitz", "acpitz#2", "x86_pkg_temp"}));
}

TEST(Boards, GarbageInTheTreeCostsOnlyWhatItIsIn) {
  JetsonTree tree(agx_orin_model());
  tree.write(tree.channel("VDD_CPU_CV").current_path, "what\n");
  tree.remove(tree.channel("VIN_SYS_5V0").voltage_path);
  tree.write(tree.zone("cv1-thermal") + "/type", "");
  tree.write("/sys/devices/system/cpu/present", "0-99999999999999999999\n");
  tree.write("/sys/bus/i2c/drivers/ina3221/1-zz/hwmon/hwmon1/in1_label", "X\n");
  const BoardConfig board = detect_board(tree.root());
  EXPECT_EQ(labels(board), (std::vector<std::string>{"VDD_GPU_SOC", "VDDQ_VDD2_1V8AO", "EXTRA_SENSOR_RAIL"}));
  EXPECT_EQ(board.num_cpu_cores, 12U);
  EXPECT_EQ(board.thermal_zones.size(), 10U);
}

TEST(Boards, ThePowerModeHasANumberAndAName) {
  JetsonTree tree(agx_orin_model());
  EXPECT_EQ(sense::describe_power_mode(tree.root()), "2 (15W)");
  tree.remove("/etc/nvpmodel.conf");
  EXPECT_EQ(sense::describe_power_mode(tree.root()), "2");
  tree.write("/var/lib/nvpmodel/status", "pmode:");
  EXPECT_EQ(sense::describe_power_mode(tree.root()), "");
}

}  // namespace
}  // namespace kymo::test
