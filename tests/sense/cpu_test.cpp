#include <gtest/gtest.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>

#include <kymo/events.hpp>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::sense {

SensorMaker make_cpu_sensors;
namespace {

using test::ms;

class CpuTest : public testing::Test {
 protected:
  void make() { make_cpu_sensors(tree.context(), sensors); }
  void write_stat(const std::string& lines) {
    tree.write("/proc/stat",
               lines + "intr 900 0 0 5\nctxt " + std::to_string(context_switches) +
                   "\nbtime 1795260960\nprocesses 731209\nprocs_running 3\nprocs_blocked 1\nsoftirq 60 0 1\n");
  }
  test::Readings read(std::int64_t now_ms) { return test::read_all(sensors, now_ms * ms); }
  std::uint8_t flags_of(const std::string& key) {
    const Sensor& sensor = *sensors[0];
    for (std::size_t i = 0; i < sensor.metrics().size(); ++i) {
      if (test::key_of(sensor.metrics()[i]) == key) {
        return sensor.readings()[i].has_value ? sensor.readings()[i].flags : std::uint8_t{0};
      }
    }
    return 255;
  }

  test::MachineTree tree;
  SensorList sensors;
  std::uint64_t context_switches = 1000;
};

// Columns: user nice system idle iowait irq softirq steal guest guest_nice.
const char* const two_cores_before =
    "cpu  1000 100 200 5000 50 0 10 20 500 0\n"
    "cpu0 600 50 100 2500 25 0 5 10 500 0\n"
    "cpu1 400 50 100 2500 25 0 5 10 0 0\n";
// In 100 ms core 0 was 8 of 10 ticks busy (user 5, system 1, softirq 1, steal 1), core 1 4 of 10 (nice 2, system 2) and
// waited for 3.
const char* const two_cores_after =
    "cpu  1005 102 203 5005 53 0 11 21 505 0\n"
    "cpu0 605 50 101 2502 25 0 6 11 505 0\n"
    "cpu1 400 52 102 2503 28 0 5 10 0 0\n";

TEST_F(CpuTest, SharesAreThoseOfTheTicksBetweenTwoReads) {
  write_stat(two_cores_before);
  make();
  EXPECT_EQ(read(1000).count("cpu_util"), 0u);
  write_stat(two_cores_after);
  const test::Readings readings = read(1100);
  EXPECT_EQ(readings.at("cpu_util"), 60);
  EXPECT_EQ(readings.at("cpu_util{core=0}"), 80);
  EXPECT_EQ(readings.at("cpu_util{core=1}"), 40);
  EXPECT_EQ(readings.at("cpu_iowait"), 15);
  EXPECT_EQ(readings.at("cpu_steal"), 5);
}

TEST_F(CpuTest, DeclarationsSayWhatTheNumbersAreWorth) {
  write_stat(two_cores_before);
  make();
  const MetricDeclaration core = test::declaration_of(sensors, "cpu_util{core=1}");
  EXPECT_EQ(core.unit, "%");
  EXPECT_EQ(core.source, tree.at("/proc/stat").string());
  EXPECT_EQ(core.window_ns, 100 * ms);
  EXPECT_EQ(core.renewal_ns, 10 * ms);
  EXPECT_EQ(core.step, 10);
  EXPECT_EQ(core.traits, 0u);
  const MetricDeclaration all = test::declaration_of(sensors, "cpu_util");
  EXPECT_EQ(all.step, 5);
  EXPECT_EQ(all.traits, MetricDeclaration::total);
}

TEST_F(CpuTest, NoValueIsTakenOverLessThanTheWindow) {
  write_stat(two_cores_before);
  make();
  read(1000);
  write_stat(two_cores_after);
  EXPECT_EQ(read(1050).count("cpu_util"), 0u);
}

TEST_F(CpuTest, AtAThousandHertzTheWindowSlidesAndReadsBetweenTicksAreStale) {
  // One core that is busy in every other tick for a second, and then idle.
  const auto line_at = [](std::int64_t tick) {
    const std::int64_t busy = std::min<std::int64_t>(tick, 100) / 2;
    return std::to_string(1000 + busy) + " 0 0 " + std::to_string(5000 + tick - busy) + " 0 0 0 0 0 0\n";
  };
  const auto write_tick = [&](std::int64_t tick) { write_stat("cpu  " + line_at(tick) + "cpu0 " + line_at(tick)); };
  write_tick(0);
  make();
  int stale = 0;
  for (std::int64_t now = 0; now < 2000; ++now) {
    if (now % 10 == 0) {
      write_tick(now / 10);
    }
    const test::Readings readings = read(5000 + now);
    stale += flags_of("cpu_util{core=0}") == SampleRun::stale ? 1 : 0;
    ASSERT_EQ(readings.count("cpu_util{core=0}"), now >= 100 ? 1u : 0u) << now;
    if (now >= 100 && now < 1000) {
      ASSERT_EQ(readings.at("cpu_util{core=0}"), 50) << now;
    }
    if (now >= 1110) {
      ASSERT_EQ(readings.at("cpu_util{core=0}"), 0) << now;
    }
  }
  EXPECT_EQ(stale, 1710);  // of the 1900 with a value, the 190 right at a tick are new
}

TEST_F(CpuTest, AtSlowRatesTheWindowIsThePeriod) {
  make();
  std::uint64_t busy = 0;
  std::uint64_t idle = 0;
  for (std::int64_t second = 10; second < 200; second += 10) {  // 0.1 Hz
    busy += static_cast<std::uint64_t>(second);
    idle += static_cast<std::uint64_t>(1000 - second);
    write_stat("cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + "\ncpu0 " + std::to_string(busy) +
               " 0 0 " + std::to_string(idle) + "\n");
    const test::Readings readings = read(second * 1000);
    if (second > 10) {
      EXPECT_DOUBLE_EQ(readings.at("cpu_util"), static_cast<double>(second) / 10) << second;
    }
  }
}

TEST_F(CpuTest, AnUnpluggedCoreIsAGapAndComesBackWithoutTheTimeItWasAway) {
  write_stat("cpu  0 0 0 0\ncpu0 100 0 0 100\ncpu1 100 0 0 100\n");
  make();
  read(1000);
  write_stat("cpu  0 0 0 0\ncpu0 105 0 0 105\ncpu1 110 0 0 100\n");
  EXPECT_EQ(read(1100).at("cpu_util{core=1}"), 100);
  write_stat("cpu  0 0 0 0\ncpu0 110 0 0 110\n");
  test::Readings readings = read(1200);
  EXPECT_TRUE(std::isnan(readings.at("cpu_util{core=1}")));
  EXPECT_EQ(readings.at("cpu_util{core=0}"), 50);
  EXPECT_EQ(readings.at("cpu_util"), 50);
  write_stat("cpu  0 0 0 0\ncpu0 115 0 0 115\ncpu1 9999 0 0 100\n");
  readings = read(1300);
  EXPECT_EQ(readings.count("cpu_util{core=1}"), 0u);  // the gap goes on
  EXPECT_EQ(readings.at("cpu_util"), 50);
  write_stat("cpu  0 0 0 0\ncpu0 120 0 0 120\ncpu1 10001 0 0 108\n");
  readings = read(1400);
  EXPECT_EQ(readings.at("cpu_util{core=1}"), 20);
  EXPECT_EQ(readings.at("cpu_util"), 35);  // 5 + 2 of 20 ticks
}

TEST_F(CpuTest, ACoreThatAppearsGetsAMetric) {
  write_stat("cpu  0 0 0 0\ncpu0 100 0 0 100\n");
  make();
  read(1000);
  EXPECT_EQ(sensors[0]->metrics().size(), 4u);
  write_stat("cpu  0 0 0 0\ncpu0 110 0 0 100\ncpu7 5 0 0 5\n");
  read(1100);
  EXPECT_EQ(sensors[0]->metrics().size(), 5u);
  write_stat("cpu  0 0 0 0\ncpu0 120 0 0 100\ncpu7 5 0 0 15\n");
  EXPECT_EQ(read(1200).at("cpu_util{core=7}"), 0);
}

TEST_F(CpuTest, IowaitThatGoesBackMakesNoWrongShare) {
  write_stat("cpu  0 0 0 0\ncpu0 100 0 0 1000 500 0 0 0\n");
  make();
  read(1000);
  write_stat("cpu  0 0 0 0\ncpu0 102 0 0 1001 400 0 0 0\n");  // 2 of the 10 ticks of 100 ms
  const test::Readings readings = read(1100);
  EXPECT_EQ(readings.at("cpu_util{core=0}"), 20);
  EXPECT_EQ(readings.at("cpu_iowait"), 0);
}

TEST_F(CpuTest, CountersThatBeginAnewAreAGapAndNoShare) {
  write_stat("cpu  0 0 0 0\ncpu0 1000 0 0 1000\n");
  make();
  read(1000);
  write_stat("cpu  0 0 0 0\ncpu0 1010 0 0 1000\n");
  EXPECT_EQ(read(1100).at("cpu_util{core=0}"), 100);
  write_stat("cpu  0 0 0 0\ncpu0 3 0 0 7\n");
  EXPECT_TRUE(std::isnan(read(1200).at("cpu_util{core=0}")));
  write_stat("cpu  0 0 0 0\ncpu0 4 0 0 16\n");
  EXPECT_EQ(read(1300).at("cpu_util{core=0}"), 10);
}

TEST_F(CpuTest, GarbageIsAGapOfTheCoreItStandsFor) {
  write_stat("cpu  0 0 0 0\ncpu0 100 0 0 100\ncpu1 100 0 0 100\n");
  make();
  read(1000);
  write_stat("cpu  0 0 0 0\ncpu0 110 0 0 100\ncpu1 110 0 0 100\n");
  read(1100);
  std::int64_t now_ms = 1100;
  for (const std::string garbage : {"cpu1 99999999999999999999999 0 0 0\n", "cpu1 120 x 0 100\n", "cpu1\n", "cpu1 12\n",
                                    "cpux 1 2 3 4\n", "cpu1 120 0 0 9007199254740993\n", "cpu99999999 1 2 3 4\n"}) {
    write_stat("cpu  0 0 0 0\ncpu0 110 0 0 100\ncpu1 110 0 0 100\n");
    read(now_ms += 100);
    write_stat("cpu  0 0 0 0\ncpu0 120 0 0 100\n" + garbage);
    const test::Readings readings = read(now_ms += 100);
    EXPECT_EQ(readings.at("cpu_util"), 100) << garbage;
    const auto core = readings.find("cpu_util{core=1}");
    EXPECT_TRUE(core == readings.end() || std::isnan(core->second)) << garbage;
    EXPECT_EQ(sensors[0]->metrics().size(), 5u) << garbage;
  }
}

TEST_F(CpuTest, AFileCutMidwayLosesOnlyWhatWasCut) {
  write_stat("cpu  0 0 0 0\ncpu0 100 0 0 100\ncpu1 100 0 0 100\n");
  make();
  read(1000);
  tree.write("/proc/stat", "cpu  0 0 0 0\ncpu0 105 0 0 105\ncpu1 105 0 0 1");
  const test::Readings readings = read(1100);
  EXPECT_EQ(readings.at("cpu_util{core=0}"), 50);
  EXPECT_EQ(readings.count("cpu_util{core=1}"), 0u);
  EXPECT_EQ(readings.count("context_switches"), 0u);
}

TEST_F(CpuTest, ASourceWithoutLinesOfCoresStillHasItsSum) {
  write_stat("cpu  100 0 0 100\n");
  make();
  read(1000);
  write_stat("cpu  103 0 0 107\n");
  EXPECT_EQ(read(1100).at("cpu_util"), 30);
}

TEST_F(CpuTest, ManyCoresAreReadToTheLast) {
  const auto lines = [](int busy, int idle) {
    std::string text = "cpu  0 0 0 0\n";
    for (int core = 0; core < 1000; ++core) {
      text += "cpu" + std::to_string(core) + " " + std::to_string(1'000'000'000 + busy) + " 0 0 " +
              std::to_string(1'000'000'000 + idle) + " 0 0 0 0 0 0\n";
    }
    return text;
  };
  // Found when it is made, and where they are plugged in later.
  for (const std::string& before : {lines(0, 0), std::string("cpu  0 0 0 0\ncpu0 1 0 0 1\n")}) {
    sensors.clear();
    write_stat(before);
    make();
    for (int i = 1; i < 5; ++i) {
      write_stat(lines(i, 9 * i));
      read(1000 + 100 * i);
    }
    write_stat(lines(5, 45));
    const test::Readings readings = read(1500);
    EXPECT_EQ(readings.at("cpu_util{core=999}"), 10);
    EXPECT_EQ(readings.at("cpu_util"), 10);
  }
}

TEST_F(CpuTest, AMachineWithoutProcSaysSoAndIsTriedAgain) {
  make();
  read(1000);
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), "No such file or directory: " + tree.at("/proc/stat").string());
  EXPECT_TRUE(sensors[1]->is_unavailable());
  write_stat("cpu  0 0 0 0\ncpu0 100 0 0 100\n");
  read(1500);
  EXPECT_TRUE(sensors[0]->is_unavailable());
  read(2000);
  EXPECT_FALSE(sensors[0]->is_unavailable());
  write_stat("cpu  0 0 0 0\ncpu0 101 0 0 109\n");
  EXPECT_EQ(read(2100).at("cpu_util{core=0}"), 10);
  tree.write("/proc/stat", "no such thing\n");
  EXPECT_TRUE(std::isnan(read(2200).at("cpu_util{core=0}")));
  EXPECT_TRUE(sensors[0]->is_unavailable());
}

TEST_F(CpuTest, TheSchedulerIsReadBehindTheInterrupts) {
  tree.write("/proc/loadavg", "0.52 0.47 1.45 1/89 17551\n");
  write_stat(two_cores_before);
  make();
  test::Readings readings = read(1000);
  EXPECT_EQ(readings.at("tasks_running"), 3);
  EXPECT_EQ(readings.at("tasks_blocked"), 1);
  EXPECT_EQ(readings.at("load_1m"), 0.52);
  EXPECT_EQ(readings.count("context_switches"), 0u);
  context_switches += 500;
  write_stat(two_cores_after);
  EXPECT_EQ(read(1100).at("context_switches"), 5000);
  context_switches = 7;  // began anew
  write_stat(two_cores_after);
  EXPECT_TRUE(std::isnan(read(1200).at("context_switches")));
  tree.write("/proc/loadavg", "");
  readings = read(1300);
  EXPECT_TRUE(std::isnan(readings.at("load_1m")));
  EXPECT_EQ(readings.at("tasks_running"), 3);
  EXPECT_FALSE(sensors[1]->is_unavailable());
  EXPECT_NE(sensors[1]->trouble().find("/proc/loadavg"), std::string::npos);
}

TEST_F(CpuTest, BothSensorsShareAReadOfTheFile) {
  write_stat(two_cores_before);
  make();
  sensors[0]->read(1000 * ms);
  sensors[1]->read(1000 * ms);
  context_switches += 500;
  write_stat(two_cores_after);
  sensors[0]->read(1100 * ms);
  context_switches += 10'000;
  write_stat(two_cores_after);
  sensors[1]->read(1104 * ms);
  ASSERT_TRUE(sensors[1]->readings()[0].has_value);
  EXPECT_EQ(sensors[1]->readings()[0].value, 5000)
      << "of the 100 ms between the reads, not those between its own turns";
  sensors[1]->read(1200 * ms);
  EXPECT_EQ(sensors[1]->readings()[0].value, 100'000);
}

TEST_F(CpuTest, LongLinesOfInterruptsDoNotHideTheScheduler) {
  std::string interrupts = "intr 1";
  for (int i = 0; i < 60'000; ++i) {
    interrupts += " 0";
  }
  tree.write("/proc/stat",
             "cpu  1 0 0 1\ncpu0 1 0 0 1\n" + interrupts + "\nctxt 5\nprocs_running 2\nprocs_blocked 0\n");
  make();
  EXPECT_EQ(read(1000).at("tasks_running"), 2);
}

TEST(CpuHere, EveryOnlineCoreHasAMetricAndSharesAreShares) {
  SensorList sensors;
  make_cpu_sensors({}, sensors);
  if (!std::ifstream("/proc/stat")) {
    GTEST_SKIP() << "no /proc/stat here";
  }
  std::size_t cores = 0;
  for (const MetricDeclaration& metric : sensors[0]->metrics()) {
    cores += metric.name == "cpu_util" && !metric.labels.empty() ? 1U : 0U;
  }
  EXPECT_EQ(cores, static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_EQ(test::read_all(sensors, 1000 * ms).count("cpu_util"), 0u);
  // Uses up some ticks of its own.
  const std::clock_t begin = std::clock();
  while (std::clock() - begin < CLOCKS_PER_SEC / 20) {
  }
  const test::Readings readings = test::read_all(sensors, 1100 * ms);
  ASSERT_EQ(readings.count("cpu_util"), 1u);
  EXPECT_GT(readings.at("cpu_util"), 0);
  EXPECT_LE(readings.at("cpu_util"), 100);
}

}  // namespace
}  // namespace kymo::sense
