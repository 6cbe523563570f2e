#include <gtest/gtest.h>
#include <cmath>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_disk_sensors;
namespace {

using test::ms;

class DiskTest : public testing::Test {
 protected:
  void make() { make_disk_sensors(tree.context(), sensors); }
  test::Readings read(std::int64_t now_ms) { return test::read_all(sensors, now_ms * ms); }

  test::MachineTree tree;
  SensorList sensors;
};

const std::string vda_before = " 254 0 vda 100 22 1000 2037 50 17 4000 896 0 2000 3000 1 2 3 4 5 6\n";

TEST_F(DiskTest, RatesAreOfSectorsOfTheHalfSecondBetween) {
  tree.write("/sys/block/vda/size", "1");
  tree.write("/proc/diskstats", vda_before);
  make();
  test::Readings readings = read(1000);
  EXPECT_EQ(readings.at("disk_read_bytes{disk=vda}"), 512'000);
  EXPECT_EQ(readings.at("disk_written_bytes{disk=vda}"), 2'048'000);
  EXPECT_EQ(readings.count("disk_read{disk=vda}"), 0u);
  tree.write("/proc/diskstats", " 254 0 vda 110 22 1100 2037 55 17 4008 896 0 2125 3000 1 2 3 4 5 6\n");
  readings = read(1500);
  EXPECT_EQ(readings.at("disk_read{disk=vda}"), 102'400);
  EXPECT_EQ(readings.at("disk_write{disk=vda}"), 8192);
  EXPECT_EQ(readings.at("disk_read_ops{disk=vda}"), 20);
  EXPECT_EQ(readings.at("disk_write_ops{disk=vda}"), 10);
  EXPECT_EQ(readings.at("disk_busy{disk=vda}"), 25);
  EXPECT_EQ(readings.at("disk_written_bytes{disk=vda}"), 4008.0 * 512);
  EXPECT_EQ(test::declaration_of(sensors, "disk_read_bytes{disk=vda}").kind, MetricKind::counter);
}

TEST_F(DiskTest, PartitionsLoopsAndUnusedDevicesAreLeftOut) {
  for (const std::string block : {"vda", "nbd0", "loop0", "ram0", "zram0", "dm-0", "cciss!c0d0"}) {
    tree.write("/sys/block/" + block + "/size", "1");
  }
  tree.write("/sys/block/dm-0/slaves/vda", "");
  const std::string counts = " 1 0 8 0 1 0 8 0 0 1 1\n";
  tree.write("/proc/diskstats", "1 0 ram0" + counts + "7 0 loop0" + counts + "252 0 zram0" + counts +
                                    "43 0 nbd0 0 0 0 0 0 0 0 0 0 0 0\n" + "254 0 vda" + counts + "254 1 vda1" + counts +
                                    "253 0 dm-0" + counts + "104 0 cciss/c0d0" + counts);
  make();
  const test::Readings readings = read(1000);
  EXPECT_EQ(readings.size(), 6u);
  EXPECT_EQ(readings.count("disk_read_bytes{disk=vda}"), 1u);
  EXPECT_EQ(readings.count("disk_read_bytes{disk=dm-0}"), 1u);
  EXPECT_EQ(readings.count("disk_read_bytes{disk=cciss/c0d0}"), 1u);
  EXPECT_EQ(test::declaration_of(sensors, "disk_read{disk=dm-0}").traits, MetricDeclaration::total);
  EXPECT_EQ(test::declaration_of(sensors, "disk_read{disk=vda}").traits, 0u);
}

TEST_F(DiskTest, WithoutSysfsNamesTellPartitions) {
  std::string text;
  for (const std::string name :
       {"sda", "sda1", "nvme0n1", "nvme0n1p2", "mmcblk0", "mmcblk0p1", "vdb12", "md0", "dm-3"}) {
    text += "8 0 " + name + " 1 0 8 0 1 0 8 0 0 1 1\n";
  }
  tree.write("/proc/diskstats", text);
  make();
  const test::Readings readings = read(1000);
  EXPECT_EQ(readings.size(), 10u);
  for (const std::string name : {"sda", "nvme0n1", "mmcblk0", "md0", "dm-3"}) {
    EXPECT_EQ(readings.count("disk_read_bytes{disk=" + name + "}"), 1u) << name;
  }
}

TEST_F(DiskTest, ADiskThatGoesIsAGapAndOneThatComesBackBeginsAnew) {
  tree.write("/sys/block/vda/size", "1");
  tree.write("/sys/block/sdb/size", "1");
  const std::string other = "8 16 sdb 5 0 40 0 0 0 0 0 0 5 5\n";
  tree.write("/proc/diskstats", vda_before);
  make();
  read(1000);
  tree.write("/proc/diskstats", vda_before + other);  // plugged in
  EXPECT_EQ(read(1100).at("disk_read_bytes{disk=sdb}"), 20'480);
  tree.write("/proc/diskstats", vda_before);
  test::Readings readings = read(1200);
  EXPECT_TRUE(std::isnan(readings.at("disk_read_bytes{disk=sdb}")));
  EXPECT_EQ(readings.at("disk_read{disk=vda}"), 0);
  tree.write("/proc/diskstats", other + vda_before);
  readings = read(1300);
  EXPECT_EQ(readings.at("disk_read_bytes{disk=sdb}"), 20'480);
  EXPECT_EQ(readings.count("disk_read{disk=sdb}"), 0u);
  EXPECT_EQ(readings.at("disk_read{disk=vda}"), 0);
  EXPECT_EQ(read(1400).at("disk_read{disk=sdb}"), 0);
}

TEST_F(DiskTest, CountersThatGoBackGiveNoRate) {
  tree.write("/proc/diskstats", vda_before);
  make();
  read(1000);
  read(1100);
  tree.write("/proc/diskstats", "254 0 vda 1 0 8 0 1 0 8 0 0 1 1\n");
  const test::Readings readings = read(1200);
  for (const std::string name : {"disk_read", "disk_write", "disk_read_ops", "disk_write_ops", "disk_busy"}) {
    EXPECT_TRUE(std::isnan(readings.at(name + "{disk=vda}"))) << name;
  }
  EXPECT_EQ(readings.at("disk_read_bytes{disk=vda}"), 4096);
}

TEST_F(DiskTest, GarbageAndCutLinesAreGaps) {
  tree.write("/proc/diskstats", vda_before);
  make();
  std::int64_t now_ms = 1000;
  for (const std::string garbage :
       {"254 0 vda 110 22 1100 2037 55 17 4008 896 0 21", "254 0 vda 110 22 x 2037 55 17 4008 896 0 2125 9\n",
        "254 0 vda\n", "254 vda 1 2 3 4 5 6 7 8 9 10 11\n", "254 0 vda 99999999999999999999999 1 1 1 1 1 1 1 1 1 1\n",
        "\n\n\n"}) {
    tree.write("/proc/diskstats", vda_before);
    read(now_ms += 1000);
    tree.write("/proc/diskstats", garbage);
    EXPECT_TRUE(std::isnan(read(now_ms += 1000).at("disk_read_bytes{disk=vda}"))) << garbage;
  }
}

TEST_F(DiskTest, WithoutItsFileItSaysSo) {
  make();
  read(1000);
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), "No such file or directory: " + tree.at("/proc/diskstats").string());
}

}  // namespace
}  // namespace kymo::sense
