// Batteries: the power that they give while they feed the machine.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/power/power_choice.hpp"
#include "machine_tree.hpp"
#include "sense/common/sensor.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {
SensorMaker make_battery_sensors;
}

namespace kymo::test {
namespace {

const std::string supplies = "/sys/class/power_supply/";

sense::SensorList make_batteries(const MachineTree& tree) {
  sense::SensorList list;
  sense::make_battery_sensors(tree.context(), list);
  return list;
}

void add_battery(MachineTree& tree, const std::string& name, const std::string& status) {
  tree.write(supplies + name + "/type", "Battery\n");
  tree.write(supplies + name + "/status", status + "\n");
  tree.write(supplies + name + "/capacity", "81\n");
}

TEST(Battery, GivesThePowerThatTheMachineTakes) {
  MachineTree tree;
  add_battery(tree, "BAT0", "Discharging");
  tree.write(supplies + "BAT0/power_now", "8250000\n");
  tree.write(supplies + "AC/type", "Mains\n");
  tree.write(supplies + "hidpp_battery_0/type", "Battery\n");
  tree.write(supplies + "hidpp_battery_0/scope", "Device\n");
  const sense::SensorList sensors = make_batteries(tree);
  const Readings readings = read_all(sensors, second);
  EXPECT_EQ(readings.at("battery_power{battery=BAT0}"), 8.25);
  EXPECT_EQ(readings.at("battery_charge{battery=BAT0}"), 81);
  EXPECT_EQ(readings.size(), 2U) << "a mouse does not feed the machine";
  EXPECT_EQ(declaration_of(sensors, "battery_power{battery=BAT0}").source, supplies + "BAT0/power_now");
}

TEST(Battery, ThatChargesSaysNothingOfTheMachine) {
  MachineTree tree;
  add_battery(tree, "BAT0", "Discharging");
  tree.write(supplies + "BAT0/power_now", "8250000\n");
  const sense::SensorList sensors = make_batteries(tree);
  (void)read_all(sensors, second);
  for (const char* const status : {"Charging", "Full", "Not charging", "Unknown"}) {
    tree.write(supplies + "BAT0/status", status);
    const Readings readings = read_all(sensors, 2 * second);
    const auto power = readings.find("battery_power{battery=BAT0}");
    EXPECT_TRUE(power == readings.end() || std::isnan(power->second)) << status;
    tree.write(supplies + "BAT0/status", "Discharging\n");
    EXPECT_EQ(read_all(sensors, 3 * second).at("battery_power{battery=BAT0}"), 8.25);
  }
}

TEST(Battery, WithoutAPowerItIsVoltageTimesCurrentOfEitherSign) {
  MachineTree tree;
  add_battery(tree, "BAT1", "Discharging");
  tree.write(supplies + "BAT1/voltage_now", "12000000\n");
  tree.write(supplies + "BAT1/current_now", "-500000\n");
  EXPECT_EQ(read_all(make_batteries(tree), second).at("battery_power{battery=BAT1}"), 6);
}

TEST(Battery, AtRestGivesNothingWhileAnotherFeedsTheMachine) {
  MachineTree tree;
  add_battery(tree, "BAT0", "Not charging");
  tree.write(supplies + "BAT0/power_now", "0\n");
  add_battery(tree, "BAT1", "Discharging");
  tree.write(supplies + "BAT1/power_now", "7000000\n");
  const Readings readings = read_all(make_batteries(tree), second);
  EXPECT_EQ(readings.at("battery_power{battery=BAT0}"), 0);
  EXPECT_EQ(readings.at("battery_power{battery=BAT1}"), 7);
}

TEST(Battery, IsThePowerSourceWhereThereIsNoFinerOne) {
  MachineTree tree;
  add_battery(tree, "BAT0", "Discharging");
  tree.write(supplies + "BAT0/power_now", "8250000\n");
  const sense::SensorList sensors = make_batteries(tree);
  std::vector<MetricDeclaration> metrics = sensors.front()->metrics();
  base::PowerChoice choice = base::choose_power_sources(metrics, {});
  ASSERT_EQ(choice.sources.size(), 1U);
  EXPECT_EQ(choice.sources[0].name, "battery_power battery=BAT0");
  metrics.push_back(sense::describe("bench_supply", "W", ""));
  choice = base::choose_power_sources(metrics, {});
  ASSERT_EQ(choice.sources.size(), 1U) << "what the program measures is of the same machine";
  EXPECT_EQ(choice.sources[0].name, "bench_supply");
  metrics.push_back(sense::describe("cpu_energy", "J", "", MetricKind::energy_counter));
  metrics.back().labels = {{"package", "0"}, {"domain", "package-0"}};
  choice = base::choose_power_sources(metrics, {});
  ASSERT_EQ(choice.sources.size(), 1U);
  EXPECT_EQ(choice.sources[0].name, "cpu_energy package=0 domain=package-0");
}

TEST(Battery, AMachineWithoutOneSaysSo) {
  const MachineTree tree;
  const sense::SensorList sensors = make_batteries(tree);
  EXPECT_TRUE(read_all(sensors, second).empty());
  EXPECT_TRUE(sensors.front()->is_unavailable());
  EXPECT_NE(sensors.front()->trouble().find("no battery"), std::string::npos);
}

}  // namespace
}  // namespace kymo::test
