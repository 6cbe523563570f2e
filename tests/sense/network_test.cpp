#include <gtest/gtest.h>
#include <cmath>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_network_sensors;
namespace {

using test::ms;

class NetworkTest : public testing::Test {
 protected:
  void make() { make_network_sensors(tree.context(), sensors); }
  void write(const std::string& lines) {
    tree.write("/proc/net/dev",
               "Inter-|   Receive                            |  Transmit\n"
               " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo\n" +
                   lines);
  }
  test::Readings read(std::int64_t now_ms) { return test::read_all(sensors, now_ms * ms); }

  test::MachineTree tree;
  SensorList sensors;
};

const std::string loopback =
    "    lo:    9727      87    0    0    0     0  0  0     9727      87    0    0    0  0 0 0\n";
const std::string silent =
    "  ifb0:       0       0    0    0    0     0  0  0        0       0    0    0    0  0 0 0\n";

TEST_F(NetworkTest, RatesAreOfBothDirectionsAndTroublesOfBothTogether) {
  write(loopback + silent + "  eth0: 1000000 3171 1 10 0 0 0 0 5000 18 2 20 0 0 0 0\n");
  make();
  EXPECT_TRUE(read(1000).empty());
  write(loopback + silent + "  eth0:1250000 3171 2 13 0 0 0 0 5100 18 2 24 0 0 0 0\n");
  const test::Readings readings = read(1500);
  EXPECT_EQ(readings.size(), 4u);  // nothing of the loopback, nor of what never moved
  EXPECT_EQ(readings.at("network_receive{interface=eth0}"), 500'000);
  EXPECT_EQ(readings.at("network_transmit{interface=eth0}"), 200);
  EXPECT_EQ(readings.at("network_errors{interface=eth0}"), 2);
  EXPECT_EQ(readings.at("network_drops{interface=eth0}"), 14);
}

TEST_F(NetworkTest, TheLoopbackCountsWhereThereIsNoOther) {
  write(loopback);
  make();
  read(1000);
  EXPECT_EQ(read(2000).at("network_receive{interface=lo}"), 0);
}

TEST_F(NetworkTest, ABridgeContainsWhatIsBelowIt) {
  tree.write("/sys/class/net/br0/lower_eth0/mtu", "1500");
  write("  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  br0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
  make();
  EXPECT_EQ(test::declaration_of(sensors, "network_receive{interface=br0}").traits, MetricDeclaration::total);
  EXPECT_EQ(test::declaration_of(sensors, "network_receive{interface=eth0}").traits, 0u);
}

TEST_F(NetworkTest, InterfacesComeAndGoAndBeginAnew) {
  write("eth0: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n");
  make();
  read(1000);
  write("eth0: 200 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\nveth1: 50 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n");
  read(2000);
  write("eth0: 300 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\nveth1: 60 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n");
  EXPECT_EQ(read(3000).at("network_receive{interface=veth1}"), 10);
  write("eth0: 400 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\nveth1: 70 1 0 0 0");
  test::Readings readings = read(4000);
  EXPECT_TRUE(std::isnan(readings.at("network_receive{interface=veth1}")));
  EXPECT_EQ(readings.at("network_receive{interface=eth0}"), 100);
  write("eth0: 5 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\nveth1: 90 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0\n");
  readings = read(5000);
  EXPECT_TRUE(std::isnan(readings.at("network_receive{interface=eth0}")));
  EXPECT_EQ(readings.count("network_receive{interface=veth1}"), 0u);
}

TEST_F(NetworkTest, InterfacesWithoutEndAreBounded) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) {
    lines += "veth" + std::to_string(i) + ": 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n";
  }
  write(lines);
  make();
  read(1000);
  EXPECT_EQ(sensors[0]->metrics().size(), 1024u);
  EXPECT_FALSE(sensors[0]->is_unavailable());
  EXPECT_NE(sensors[0]->trouble().find("more than 256 interfaces"), std::string::npos);
}

TEST_F(NetworkTest, WithoutItsFileItSaysSo) {
  make();
  read(1000);
  EXPECT_EQ(sensors[0]->trouble(), "No such file or directory: " + tree.at("/proc/net/dev").string());
}

}  // namespace
}  // namespace kymo::sense
