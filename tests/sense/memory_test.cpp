#include <gtest/gtest.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include <cmath>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_memory_sensors;
namespace {

using test::ms;

class MemoryTest : public testing::Test {
 protected:
  void make() { make_memory_sensors(tree.context(), sensors); }
  test::Readings read(std::int64_t now_ms) { return test::read_all(sensors, now_ms * ms); }

  test::MachineTree tree;
  SensorList sensors;
};

const std::string meminfo =
    "MemTotal:       24684084 kB\n"
    "MemFree:        14027972 kB\n"
    "MemAvailable:   24004220 kB\n"
    "Buffers:           42904 kB\n"
    "Cached:          9982316 kB\n"
    "SwapCached:           77 kB\n"
    "Active:          2926796 kB\n"
    "SwapTotal:       1000000 kB\n"
    "SwapFree:         999000 kB\n"
    "Zswap:                 0 kB\n"
    "Dirty:               288 kB\n"
    "Writeback:             0 kB\n";

TEST_F(MemoryTest, AmountsAreBytes) {
  tree.write("/proc/meminfo", meminfo);
  make();
  const test::Readings readings = read(1000);
  EXPECT_EQ(readings.at("memory_total"), 24684084.0 * 1024);
  EXPECT_EQ(readings.at("memory_available"), 24004220.0 * 1024);
  EXPECT_EQ(readings.at("memory_used"), 679864.0 * 1024);
  EXPECT_EQ(readings.at("memory_cached"), 9982316.0 * 1024);
  EXPECT_EQ(readings.at("swap_used"), 1000.0 * 1024);
  EXPECT_EQ(readings.at("memory_dirty"), 288.0 * 1024);
  EXPECT_EQ(test::declaration_of(sensors, "memory_used").unit, "B");
}

TEST_F(MemoryTest, LinesThatMoveAreFoundAgain) {
  tree.write("/proc/meminfo", meminfo);
  make();
  read(1000);
  // A number outgrows its column, a newer kernel has one line more, an older one none for what is available.
  tree.write("/proc/meminfo",
             "MemTotal:       124684084 kB\nMemFree:        1 kB\nNew: 5 kB\nCached: 12 kB\nSwapCached: 3 kB\n"
             "SwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 4 kB\n");
  const test::Readings readings = read(1001);
  EXPECT_EQ(readings.at("memory_total"), 124684084.0 * 1024);
  EXPECT_TRUE(std::isnan(readings.at("memory_available")));
  EXPECT_TRUE(std::isnan(readings.at("memory_used")));
  EXPECT_EQ(readings.at("memory_cached"), 12.0 * 1024);
  EXPECT_EQ(readings.at("swap_used"), 0);
  EXPECT_EQ(readings.at("memory_dirty"), 4.0 * 1024);
}

TEST_F(MemoryTest, NonsenseIsMissing) {
  tree.write("/proc/meminfo", meminfo);
  make();
  for (const std::string nonsense : {"MemTotal: 100 kB\nMemAvailable: 200 kB\nDirty: 1",  // more than there is; cut
                                     "MemTotal: 99999999999999999999 kB\nMemAvailable: 5 kB\nDirty: 4",
                                     "MemTotal: x kB\nMemAvailable: 5 kB\nDirty: 7 kB"}) {
    tree.write("/proc/meminfo", meminfo);
    read(1000);
    tree.write("/proc/meminfo", nonsense);
    const test::Readings readings = read(1001);
    EXPECT_TRUE(std::isnan(readings.at("memory_used"))) << nonsense;
    EXPECT_TRUE(std::isnan(readings.at("memory_dirty"))) << nonsense;
  }
}

TEST_F(MemoryTest, AnyCutOfTheFileGivesRightValuesOrNone) {
  tree.write("/proc/meminfo", meminfo);
  make();
  const test::Readings whole = read(1000);
  for (std::size_t size = 1; size < meminfo.size(); ++size) {
    SensorList fresh;
    tree.write("/proc/meminfo", meminfo.substr(0, size));
    make_memory_sensors(tree.context(), fresh);
    for (const auto& [key, value] : test::read_all(fresh, 1000 * ms)) {
      EXPECT_EQ(value, whole.at(key)) << key << " of the first " << size << " bytes";
    }
  }
}

TEST_F(MemoryTest, WithoutItsFilesItSaysSo) {
  make();
  read(1000);
  EXPECT_EQ(sensors[0]->trouble(), "No such file or directory: " + tree.at("/proc/meminfo").string());
  EXPECT_EQ(sensors[1]->trouble(), "No such file or directory: " + tree.at("/proc/vmstat").string());
  tree.write("/proc/meminfo", "hello\n");
  read(2000);
  EXPECT_EQ(sensors[0]->trouble(), "holds no amounts of memory: " + tree.at("/proc/meminfo").string());
}

TEST_F(MemoryTest, PagingIsPerSecond) {
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  // Longer than what one read of the kernel gives.
  std::string filling;
  for (int i = 0; i < 3000; ++i) {
    filling += "filling_" + std::to_string(i) + " 1\n";
  }
  tree.write("/proc/vmstat", filling + "pswpin 10\npswpout 20\npgfault 1000\npgmajfault 5\n");
  make();
  read(1000);
  tree.write("/proc/vmstat", filling + "pswpin 12\npswpout 30\npgfault 1500\npgmajfault 5\n");
  test::Readings readings = read(1500);
  EXPECT_EQ(readings.at("page_faults"), 1000);
  EXPECT_EQ(readings.at("major_faults"), 0);
  EXPECT_EQ(readings.at("swap_in"), 4 * page);
  EXPECT_EQ(readings.at("swap_out"), 20 * page);
  tree.write("/proc/vmstat", "pswpin 2\npswpout 40\npgfault 17");
  readings = read(2000);
  EXPECT_TRUE(std::isnan(readings.at("swap_in")));
  EXPECT_EQ(readings.at("swap_out"), 20 * page);
  EXPECT_TRUE(std::isnan(readings.at("page_faults")));
}

TEST_F(MemoryTest, CountsThatMoveToTheEndAreFoundThere) {
  const std::string counts = "pswpin 10\npswpout 20\npgmajfault 5\npgfault ";
  const std::string filling(5000, 'x');
  tree.write("/proc/vmstat", counts + "1000\n" + filling);
  make();
  read(1000);
  tree.write("/proc/vmstat", counts + "2000\n" + filling);
  EXPECT_EQ(read(2000).at("page_faults"), 1000);
  tree.write("/proc/vmstat", filling + "\n" + counts + "5000\n");
  EXPECT_EQ(read(3000).at("page_faults"), 3000);
}

TEST(MemoryHere, TotalIsWhatTheSystemCallSays) {
  struct sysinfo info {};
  ASSERT_EQ(::sysinfo(&info), 0);
  SensorList sensors;
  make_memory_sensors({}, sensors);
  const test::Readings readings = test::read_all(sensors, 1000 * ms);
  if (readings.empty()) {
    GTEST_SKIP() << sensors[0]->trouble();
  }
  EXPECT_EQ(readings.at("memory_total"), static_cast<double>(info.totalram) * info.mem_unit);
  EXPECT_GT(readings.at("memory_used"), 0);
  EXPECT_LT(readings.at("memory_used"), readings.at("memory_total"));
  EXPECT_NEAR(readings.at("swap_used"), static_cast<double>(info.totalswap - info.freeswap) * info.mem_unit, 64e6);
}

}  // namespace
}  // namespace kymo::sense
