#include <gtest/gtest.h>
#include <cmath>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_cgroup_sensors;
namespace {

using test::ms;
constexpr std::uint64_t process = 4711;

class CgroupTest : public testing::Test {
 protected:
  void make() { make_cgroup_sensors(tree.context(process), sensors); }
  test::Readings read(std::int64_t now_ms) { return test::read_all(sensors, now_ms * ms); }

  /// A machine with version 2 only, as today's distributions have it.
  void write_version_2() {
    tree.write("/proc/mounts", "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate 0 0\n");
    tree.write("/proc/4711/cgroup", "0::/user.slice/job.scope\n");
    write_cpu_stat(5'000'000, 3, 200'000);
    tree.write(group + "/cpu.max", "150000 100000\n");
    tree.write("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    tree.write(group + "/memory.current", "104857600\n");
    tree.write(group + "/memory.peak", "209715200\n");
    tree.write(group + "/memory.max", "max\n");
    tree.write("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
    tree.write(group + "/memory.events", "low 0\nhigh 0\nmax 5\noom 2\noom_kill 1\noom_group_kill 0\n");
    tree.write(group + "/io.stat", "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n");
  }
  void write_cpu_stat(std::uint64_t usage_us, int throttled, std::uint64_t throttled_us) {
    tree.write(group + "/cpu.stat",
               "usage_usec " + std::to_string(usage_us) + "\nuser_usec 1\nsystem_usec 1\nnr_periods 10\nnr_throttled " +
                   std::to_string(throttled) + "\nthrottled_usec " + std::to_string(throttled_us) + "\n");
  }

  const std::string group = "/sys/fs/cgroup/user.slice/job.scope";
  test::MachineTree tree;
  SensorList sensors;
};

TEST_F(CgroupTest, VersionTwoIsReadWhereItsOneHierarchyIs) {
  write_version_2();
  make();
  test::Readings readings = read(1000);
  EXPECT_EQ(readings.count("cgroup_cpu"), 0u);
  EXPECT_EQ(readings.at("cgroup_cpu_limit"), 150);
  EXPECT_EQ(readings.at("cgroup_memory"), 104857600);
  EXPECT_EQ(readings.at("cgroup_memory_peak"), 209715200);
  EXPECT_EQ(readings.at("cgroup_memory_limit"), 1073741824);  // of the group above it
  EXPECT_EQ(readings.at("cgroup_oom_kills"), 1);
  EXPECT_EQ(readings.at("cgroup_throttled_periods"), 3);
  write_cpu_stat(5'250'000, 4, 225'000);
  tree.write(group + "/memory.current", "52428800\n");
  tree.write(group + "/io.stat",
             "254:0 rbytes=8192 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n254:16 wbytes=512 rbytes=0\n");
  readings = read(1200);
  EXPECT_EQ(readings.at("cgroup_cpu"), 125);
  EXPECT_EQ(readings.at("cgroup_cpu_throttled"), 12.5);
  EXPECT_EQ(readings.at("cgroup_throttled_periods"), 4);
  EXPECT_EQ(readings.at("cgroup_memory"), 52428800);
  EXPECT_EQ(readings.at("cgroup_io_read"), 20480);
  EXPECT_EQ(readings.at("cgroup_io_write"), 2560);
  EXPECT_EQ(test::declaration_of(sensors, "cgroup_cpu").source, tree.at(group + "/cpu.stat").string());
}

TEST_F(CgroupTest, VersionOneIsReadInEachOfItsHierarchies) {
  tree.write("/proc/mounts",
             "tmpfs /sys/fs/cgroup tmpfs ro 0 0\n"
             "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
             "cgroup /mnt/with\\040blank/memory cgroup rw,memory 0 0\n"
             "cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n"
             "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n");
  tree.write("/proc/4711/cgroup", "9:name=systemd:/a\n7:blkio:/job\n4:memory:/jobs/one\n2:cpu,cpuacct:/\n");
  const std::string cpu = "/sys/fs/cgroup/cpu,cpuacct";
  const std::string memory = "/mnt/with blank/memory/jobs/one";
  tree.write(cpu + "/cpuacct.usage", "1000000000\n");
  tree.write(cpu + "/cpu.stat", "nr_periods 10\nnr_throttled 2\nthrottled_time 5000000\n");
  tree.write(cpu + "/cpu.cfs_quota_us", "-1\n");
  tree.write(cpu + "/cpu.cfs_period_us", "100000\n");
  tree.write(memory + "/memory.usage_in_bytes", "4096000\n");
  tree.write(memory + "/memory.max_usage_in_bytes", "8192000\n");
  tree.write(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
  tree.write(memory + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  const std::string io = "/sys/fs/cgroup/blkio/job/blkio.throttle.io_service_bytes";
  tree.write(io, "8:0 Read 1000\n8:0 Write 2000\n8:0 Sync 500\n8:0 Total 3000\nTotal 3000\n");
  make();
  test::Readings readings = read(1000);
  EXPECT_EQ(readings.at("cgroup_memory"), 4096000);
  EXPECT_EQ(readings.at("cgroup_memory_peak"), 8192000);
  EXPECT_EQ(readings.at("cgroup_oom_kills"), 7);
  EXPECT_EQ(readings.count("cgroup_memory_limit"), 0u);
  EXPECT_EQ(readings.count("cgroup_cpu_limit"), 0u);
  tree.write(cpu + "/cpuacct.usage", "1030000000\n");
  tree.write(cpu + "/cpu.stat", "nr_periods 11\nnr_throttled 3\nthrottled_time 15000000\n");
  tree.write(io, "8:0 Read 1500\n8:0 Write 2000\n8:16 Read 500\n8:16 Write 100\nTotal 4100\n");
  readings = read(1100);
  EXPECT_EQ(readings.at("cgroup_cpu"), 30);
  EXPECT_EQ(readings.at("cgroup_cpu_throttled"), 10);
  EXPECT_EQ(readings.at("cgroup_io_read"), 10'000);
  EXPECT_EQ(readings.at("cgroup_io_write"), 1000);
  // Limits that are set later are seen within a second.
  tree.write(cpu + "/cpu.cfs_quota_us", "50000\n");
  tree.write(memory + "/memory.limit_in_bytes", "1048576\n");
  readings = read(2100);
  EXPECT_EQ(readings.at("cgroup_cpu_limit"), 50);
  EXPECT_EQ(readings.at("cgroup_memory_limit"), 1048576);
}

TEST_F(CgroupTest, AMachineWithBothIsReadWhereEachControllerIs) {
  tree.write("/proc/mounts",
             "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n");
  tree.write("/proc/4711/cgroup", "4:memory:/job\n0::/user.slice\n");
  tree.write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "12288\n");
  tree.write("/sys/fs/cgroup/unified/user.slice/cpu.stat", "usage_usec 1000\nuser_usec 1\nsystem_usec 1\n");
  tree.write("/sys/fs/cgroup/unified/user.slice/memory.current", "1\n");
  make();
  EXPECT_EQ(read(1000).at("cgroup_memory"), 12288);
  tree.write("/sys/fs/cgroup/unified/user.slice/cpu.stat", "usage_usec 11000\nuser_usec 1\nsystem_usec 1\n");
  const test::Readings readings = read(1100);
  EXPECT_EQ(readings.at("cgroup_cpu"), 10);
  EXPECT_EQ(readings.size(), 2u);
}

TEST_F(CgroupTest, InAContainerTheMountIsTheGroupOnlyWhereTheProcessIsInIt) {
  tree.write("/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  tree.write("/proc/4711/cgroup", "0::/docker/abcdef\n");
  tree.write("/sys/fs/cgroup/memory.current", "777\n");
  tree.write("/sys/fs/cgroup/cgroup.procs", "1\n47110\n");
  make();
  read(1000);
  EXPECT_EQ(sensors[0]->trouble(), "no control group of process 4711 is mounted");
  tree.write("/sys/fs/cgroup/cgroup.procs", "1\n4711\n");
  EXPECT_EQ(read(2000).at("cgroup_memory"), 777);
}

TEST_F(CgroupTest, GroupsOutsideOfWhatCanBeSeenAreNotTakenForOthers) {
  write_version_2();
  tree.write("/proc/4711/cgroup", "0::/../../user.slice/job.scope\n");
  make();
  read(1000);
  EXPECT_TRUE(sensors[0]->is_unavailable());
}

TEST_F(CgroupTest, AProcessThatMovesTakesItsMetricsAlong) {
  write_version_2();
  make();
  read(1000);
  tree.write("/sys/fs/cgroup/other/cpu.stat", "usage_usec 9000000\n");
  tree.write("/sys/fs/cgroup/other/memory.current", "4096\n");
  tree.write("/proc/4711/cgroup", "0::/other\n");
  const test::Readings readings = read(2000);
  EXPECT_EQ(readings.at("cgroup_memory"), 4096);
  EXPECT_EQ(readings.count("cgroup_cpu"), 0u);
  EXPECT_TRUE(std::isnan(readings.at("cgroup_cpu_limit")));
  tree.write("/sys/fs/cgroup/other/cpu.stat", "usage_usec 9050000\n");
  EXPECT_EQ(read(2100).at("cgroup_cpu"), 50);
}

TEST_F(CgroupTest, GarbageCutFilesAndCountersThatGoBackAreGaps) {
  write_version_2();
  make();
  read(1000);
  read(1100);
  write_cpu_stat(7, 0, 0);
  tree.write(group + "/memory.current", "lots\n");
  tree.write(group + "/io.stat", "254:0 rbytes=8192 wbytes=");
  test::Readings readings = read(1200);
  EXPECT_TRUE(std::isnan(readings.at("cgroup_cpu")));
  EXPECT_TRUE(std::isnan(readings.at("cgroup_memory")));
  EXPECT_TRUE(std::isnan(readings.at("cgroup_io_read")));
  tree.write(group + "/cpu.stat", "usage_usec 100");
  tree.write(group + "/io.stat", "254:0 rbytes=x wbytes=5\n");
  readings = read(1300);
  EXPECT_EQ(readings.count("cgroup_cpu"), 0u);
  EXPECT_TRUE(std::isnan(readings.at("cgroup_throttled_periods")));
  write_version_2();
  read(1400);
  readings = read(1500);
  EXPECT_EQ(readings.at("cgroup_cpu"), 0);
  EXPECT_EQ(readings.at("cgroup_io_read"), 0);
}

TEST_F(CgroupTest, TrafficOfMappedVolumesIsNotCountedTwice) {
  write_version_2();
  tree.write("/sys/dev/block/253:0/slaves/vda", "");
  const auto write_io = [&](int kilobytes) {
    const std::string counts = " rbytes=" + std::to_string(kilobytes * 1000) + " wbytes=0 rios=1 wios=0\n";
    tree.write(group + "/io.stat", "253:0" + counts + "254:0" + counts + "7:3" + counts);
  };
  write_io(0);
  make();
  read(1000);
  write_io(5);
  EXPECT_EQ(read(2000).at("cgroup_io_read"), 5000);
}

TEST_F(CgroupTest, AGroupWithoutTrafficHasAnEmptyFile) {
  write_version_2();
  tree.write(group + "/io.stat", "");
  make();
  read(1000);
  EXPECT_EQ(read(1100).at("cgroup_io_read"), 0);
}

TEST_F(CgroupTest, TheEndOfTheProcessLeavesItsGroup) {
  write_version_2();
  make();
  read(1000);
  tree.remove("/proc/4711");
  EXPECT_EQ(read(2500).at("cgroup_memory"), 104857600);
}

TEST_F(CgroupTest, WithoutProcItSaysSo) {
  make();
  read(1000);
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), "No such file or directory: " + tree.at("/proc/4711/cgroup").string());
}

}  // namespace
}  // namespace kymo::sense
