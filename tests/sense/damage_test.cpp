// Sensors of proc against files that say anything at all.
#include <gtest/gtest.h>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"

namespace kymo::sense {

SensorMaker make_cgroup_sensors;
SensorMaker make_cpu_clock_sensors;
SensorMaker make_cpu_sensors;
SensorMaker make_disk_sensors;
SensorMaker make_memory_sensors;
SensorMaker make_network_sensors;
SensorMaker make_pressure_sensors;
namespace {

constexpr std::array<std::pair<const char*, const char*>, 12> files = {{
    {"/proc/stat",
     "cpu  1005 102 203 5005 53 0 11 21 505 0\ncpu0 605 50 101 2502 25 0 6 11 505 0\n"
     "cpu1 400 52 102 2503 28 0 5 10 0 0\nintr 5 0 0\nctxt 500\nprocs_running 3\nprocs_blocked 1\n"},
    {"/proc/loadavg", "0.52 0.47 1.45 1/89 17551\n"},
    {"/proc/meminfo",
     "MemTotal: 24684084 kB\nMemAvailable: 24004220 kB\nCached: 98 kB\nSwapTotal: 7 kB\nSwapFree: 5 kB\nDirty: 3 kB\n"},
    {"/proc/vmstat", "pswpin 10\npswpout 20\npgfault 1000\npgmajfault 5\n"},
    {"/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.134\n\nprocessor\t: 1\ncpu MHz\t\t: 2596.134\n"},
    {"/proc/diskstats", " 254 0 vda 100 22 1000 2037 50 17 4000 896 0 2000 3000 1 2 3 4 5 6\n"},
    {"/proc/net/dev", "a|b|c\n d|e|f\n  eth0: 1000000 3171 1 10 0 0 0 0 5000 18 2 20 0 0 0 0\n"},
    {"/proc/pressure/io", "some avg10=0.90 avg60=0.64 avg300=7.32 total=500\nfull avg10=0.90 total=400\n"},
    {"/proc/mounts", "cgroup2 /cg cgroup2 rw,nosuid 0 0\ncgroup /c\\040g cgroup rw,memory 0 0\n"},
    {"/proc/1/cgroup", "4:memory:/m\n0::/job\n"},
    {"/cg/job/cpu.stat", "usage_usec 5000\nnr_throttled 3\nthrottled_usec 200\n"},
    {"/cg/job/io.stat", "254:0 rbytes=4096 wbytes=8192 rios=1 wios=2\n"},
}};

std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random()) % bound; };
  for (std::size_t i = below(4); i > 0 && !text.empty(); --i) {
    const std::size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.insert(at, "99999999999999999999");
        break;
      case 3:
        text.erase(at, below(20));
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), 50));
        break;
      default:
        text[at] = "0123456789 :\n-."[below(15)];
    }
  }
  return text;
}

TEST(Damage, GivesGapsOrValuesThatCanBe) {
  test::MachineTree tree;
  std::mt19937 random(20240601);
  SensorList sensors;
  for (int round = 0; round < 120; ++round) {
    for (const auto& [path, text] : files) {
      tree.write(path, damaged(text, random));
    }
    if (round % 20 == 0) {
      sensors.clear();
      make_cpu_sensors(tree.context(), sensors);
      make_cpu_clock_sensors(tree.context(), sensors);
      make_memory_sensors(tree.context(), sensors);
      make_disk_sensors(tree.context(), sensors);
      make_network_sensors(tree.context(), sensors);
      make_pressure_sensors(tree.context(), sensors);
      make_cgroup_sensors(tree.context(), sensors);
    }
    // Every source in trouble is due again.
    for (const auto& [key, value] : test::read_all(sensors, (round + 1) * 1'100'000'000LL)) {
      ASSERT_FALSE(std::isinf(value)) << key << " in round " << round;
      ASSERT_FALSE(value < 0) << key << " in round " << round;
      const bool is_share =
          key.compare(0, 4, "cpu_") == 0 || key.compare(0, 9, "disk_busy") == 0 || key.compare(0, 8, "pressure") == 0;
      ASSERT_FALSE(is_share && key.compare(0, 9, "cpu_clock") != 0 && value > 100) << key << " in round " << round;
    }
  }
}

}  // namespace
}  // namespace kymo::sense
