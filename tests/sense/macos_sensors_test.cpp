// The sensors of macOS against tables of functions that give recorded answers. What fills those tables on a Mac is
// compiled for it, and has not run.
#include <gtest/gtest.h>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>

#include "sense/machine_tree.hpp"
#include "sense/macos/calls.hpp"

namespace kymo::sense {
namespace {

constexpr std::int64_t start_ms = 1000;

/// Reads all sensors; what a test does not look at may be thrown away.
test::Readings read_ms(const SensorList& sensors, std::int64_t now_ms) {
  return test::read_all(sensors, now_ms * 1'000'000);
}

/// Gives one answer after the other, the last one for ever.
template <typename Answer>
class Replay {
 public:
  explicit Replay(std::deque<Answer> answers) : answers_(std::move(answers)) {}
  Answer next() {
    Answer answer = answers_.front();
    if (answers_.size() > 1) {
      answers_.pop_front();
    }
    return answer;
  }

 private:
  std::deque<Answer> answers_;
};

struct Cores {
  std::vector<MachCoreTicks> ticks;
  std::string error;
};

SensorList cpu_of(std::deque<Cores> answers) {
  MachCalls calls;
  calls.core_ticks = [replay = Replay(std::move(answers))](std::vector<MachCoreTicks>& cores) mutable {
    Cores answer = replay.next();
    cores = std::move(answer.ticks);
    return answer.error;
  };
  SensorList sensors;
  make_mach_cpu_sensors(calls, sensors);
  return sensors;
}

TEST(MachCpuTest, SharesAreThoseOfTheTicksBetweenTwoReads) {
  // user, system, idle, nice
  const SensorList sensors =
      cpu_of({{{{100, 50, 1000, 0}, {10, 10, 10, 10}}, {}}, {{{103, 51, 1004, 2}, {10, 10, 20, 10}}, {}}});
  EXPECT_TRUE(read_ms(sensors, start_ms).empty());
  const test::Readings readings = read_ms(sensors, start_ms + 100);
  EXPECT_EQ(readings.at("cpu_util{core=0}"), 60.0);
  EXPECT_EQ(readings.at("cpu_util{core=1}"), 0.0);
  EXPECT_EQ(readings.at("cpu_util"), 30.0);
  EXPECT_EQ(test::declaration_of(sensors, "cpu_util").traits, MetricDeclaration::total);
}

TEST(MachCpuTest, CountersThatWrapAroundGoOn) {
  const SensorList sensors = cpu_of({{{{0xFFFFFFFE, 0, 0xFFFFFFFF, 0}}, {}}, {{{3, 0, 4, 0}}, {}}});
  read_ms(sensors, start_ms);
  EXPECT_EQ(read_ms(sensors, start_ms + 100).at("cpu_util"), 50.0);
}

TEST(MachCpuTest, CountersThatWentBackAreMissing) {
  const SensorList sensors =
      cpu_of({{{{100, 0, 100, 0}}, {}}, {{{105, 0, 105, 0}}, {}}, {{{1, 0, 1, 0}}, {}}, {{{2, 0, 4, 0}}, {}}});
  read_ms(sensors, start_ms);
  EXPECT_EQ(read_ms(sensors, start_ms + 100).at("cpu_util"), 50.0);
  EXPECT_TRUE(std::isnan(read_ms(sensors, start_ms + 200).at("cpu_util")));
  EXPECT_EQ(read_ms(sensors, start_ms + 300).at("cpu_util"), 25.0);
}

TEST(MachCpuTest, AnErrorIsAGapAndItsReasonIsTold) {
  const SensorList sensors = cpu_of({{{{100, 0, 100, 0}}, {}},
                                     {{{105, 0, 105, 0}}, {}},
                                     {{}, "host_processor_info: (ipc/send) invalid destination port"},
                                     {{{110, 0, 110, 0}}, {}}});
  read_ms(sensors, start_ms);
  read_ms(sensors, start_ms + 100);
  EXPECT_TRUE(std::isnan(read_ms(sensors, start_ms + 200).at("cpu_util")));
  EXPECT_EQ(sensors[0]->trouble(), "host_processor_info: (ipc/send) invalid destination port");
  // Tried again after a second; then a rate needs two reads.
  EXPECT_TRUE(read_ms(sensors, start_ms + 1300).empty());
  EXPECT_EQ(sensors[0]->trouble(), "");
}

/// Each sensor has the answers from the first one on.
SensorList memory_of(std::deque<MachMemory> answers, std::string error = {}) {
  MachCalls calls;
  calls.memory = [replay = Replay(std::move(answers)), error](MachMemory& memory) mutable {
    memory = replay.next();
    return error;
  };
  SensorList sensors;
  make_mach_memory_sensors(calls, sensors);
  return sensors;
}

MachMemory some_memory() {
  MachMemory memory;
  memory.page_bytes = 16384;
  memory.total_bytes = 16384 * 1000;
  memory.swap_used_bytes = 4096;
  memory.anonymous = 300;
  memory.purgeable = 50;
  memory.file_backed = 200;
  memory.wired = 100;
  memory.compressor = 20;
  return memory;
}

TEST(MachMemoryTest, UsedIsWhatCannotBeHadOtherwise) {
  const SensorList sensors = memory_of({some_memory()});
  const test::Readings readings = read_ms(sensors, start_ms);
  EXPECT_EQ(readings.at("memory_used"), 16384.0 * (300 - 50 + 100 + 20));
  EXPECT_EQ(readings.at("memory_available"), 16384.0 * 630);
  EXPECT_EQ(readings.at("memory_total"), 16384.0 * 1000);
  EXPECT_EQ(readings.at("memory_cached"), 16384.0 * 250);
  EXPECT_EQ(readings.at("swap_used"), 4096.0);
}

TEST(MachMemoryTest, NumbersThatContradictEachOtherAreMissing) {
  MachMemory memory = some_memory();
  MachMemory broken = memory;
  broken.purgeable = 301;
  const SensorList sensors = memory_of({memory, broken});
  read_ms(sensors, start_ms);
  const test::Readings readings = read_ms(sensors, start_ms + 10);
  EXPECT_TRUE(std::isnan(readings.at("memory_used")));
  EXPECT_TRUE(std::isnan(readings.at("memory_available")));
  EXPECT_EQ(readings.at("memory_total"), 16384.0 * 1000);
}

TEST(MachMemoryTest, PagingIsTheGrowthASecond) {
  MachMemory before = some_memory();
  before.faults = 100;
  before.swap_ins = 10;
  MachMemory after = before;
  after.faults = 350;
  after.swap_ins = 12;
  const SensorList sensors = memory_of({before, after});
  read_ms(sensors, start_ms);
  const test::Readings readings = read_ms(sensors, start_ms + 500);
  EXPECT_EQ(readings.at("page_faults"), 500.0);
  EXPECT_EQ(readings.at("swap_in"), 4.0 * 16384);
  EXPECT_EQ(readings.at("swap_out"), 0.0);
}

TEST(MachProcessTest, TimesAreInUnitsOfTheMachClock) {
  MachProcess before;
  before.user_time = 24'000'000;  // a second, where 125/3 ns are a unit
  before.resident_bytes = 4096;
  before.threads = 3;
  MachProcess after = before;
  after.user_time += 600'000;  // 25 ms
  after.system_time = 600'000;
  MachCalls calls;
  calls.time_unit_ns = 125.0 / 3;
  std::uint64_t asked_for = 0;
  calls.process = [&asked_for, replay = Replay(std::deque{before, after})](std::uint64_t process,
                                                                           MachProcess& usage) mutable {
    asked_for = process;
    usage = replay.next();
    return std::string();
  };
  SensorList sensors;
  make_mach_process_sensors(calls, 42, sensors);
  test::Readings readings = read_ms(sensors, start_ms);
  EXPECT_EQ(asked_for, 42U);
  EXPECT_NEAR(readings.at("process_cpu_time"), 1.0, 1e-9);
  EXPECT_EQ(readings.at("process_rss"), 4096.0);
  EXPECT_EQ(readings.at("process_threads"), 3.0);
  EXPECT_EQ(readings.count("process_cpu"), 0U);
  readings = read_ms(sensors, start_ms + 100);
  EXPECT_NEAR(readings.at("process_cpu"), 50.0, 0.01);
}

TEST(MachProcessTest, AnUnknownTimeUnitLeavesTimesMissing) {
  MachCalls calls;
  calls.process = [](std::uint64_t /*process*/, MachProcess& usage) {
    usage.user_time = 1;
    usage.resident_bytes = 1;
    return std::string();
  };
  SensorList sensors;
  make_mach_process_sensors(calls, 1, sensors);
  const test::Readings readings = read_ms(sensors, start_ms);
  EXPECT_EQ(readings.count("process_cpu_time"), 0U);
  EXPECT_EQ(readings.count("process_threads"), 0U);
  EXPECT_EQ(readings.at("process_rss"), 1.0);
}

struct Gpus {
  std::vector<AcceleratorStatistics> gpus;
  std::string error;
};

SensorList gpu_of(std::deque<Gpus> answers) {
  SensorList sensors;
  make_accelerator_sensors({[replay = Replay(std::move(answers))](std::vector<AcceleratorStatistics>& gpus) mutable {
                             Gpus answer = replay.next();
                             gpus = std::move(answer.gpus);
                             return answer.error;
                           }},
                           sensors);
  return sensors;
}

TEST(AcceleratorTest, NumbersOfTheDriverBecomeMetrics) {
  const SensorList sensors = gpu_of({{{{"Apple M2",
                                        {{"Alloc system memory", 999},
                                         {"Tiler Utilization %", 7},
                                         {"Renderer Utilization %", 31},
                                         {"Device Utilization %", 42},
                                         {"In use system memory", 123456789}}}},
                                      {}}});
  const test::Readings readings = read_ms(sensors, start_ms);
  const std::string labels = "{gpu=0,device=Apple M2}";
  EXPECT_EQ(readings.at("gpu_util" + labels), 42.0);
  EXPECT_EQ(readings.at("gpu_sm" + labels), 31.0);
  EXPECT_EQ(readings.at("gpu_mem" + labels), 123456789.0);
  const MetricDeclaration utilization = test::declaration_of(sensors, "gpu_util" + labels);
  EXPECT_EQ(utilization.source, "IOAccelerator PerformanceStatistics: Device Utilization %");
  EXPECT_EQ(utilization.unit, "%");
  EXPECT_EQ(sensors[0]->trouble(), "");
}

TEST(AcceleratorTest, WhatADriverDoesNotPublishIsSaidAndNeverZero) {
  const SensorList sensors =
      gpu_of({{{{"AMD Radeon Pro 5500M", {{"GPU Activity(%)", 12}, {"vramUsedBytes", 4096}}}}, {}}});
  const test::Readings readings = read_ms(sensors, start_ms);
  EXPECT_EQ(readings.at("gpu_util{gpu=0,device=AMD Radeon Pro 5500M}"), 12.0);
  EXPECT_EQ(readings.at("gpu_mem{gpu=0,device=AMD Radeon Pro 5500M}"), 4096.0);
  EXPECT_EQ(readings.size(), 2U);
  EXPECT_FALSE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), "the GPU's driver publishes no sound number for gpu_sm");
}

TEST(AcceleratorTest, NumbersThatVanishOrMakeNoSenseAreGaps) {
  const SensorList sensors = gpu_of({{{{"", {{"Device Utilization %", 42}, {"In use system memory", 5}}}}, {}},
                                     {{{"", {{"Device Utilization %", 101}}}}, {}}});
  read_ms(sensors, start_ms);
  const test::Readings readings = read_ms(sensors, start_ms + 10);
  ASSERT_EQ(readings.size(), 2U);
  for (const auto& [name, value] : readings) {
    EXPECT_TRUE(std::isnan(value)) << name;
  }
}

TEST(AcceleratorTest, AFrameworkThatIsNotThereIsTheReason) {
  const std::string reason = "/System/Library/Frameworks/IOKit.framework/IOKit lacks IOServiceMatching";
  const SensorList sensors = gpu_of({{{}, reason}});
  EXPECT_TRUE(read_ms(sensors, start_ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), reason);
}

TEST(AcceleratorTest, AMacWithoutSuchServicesSaysSo) {
  const SensorList sensors = gpu_of({{{}, {}}});
  EXPECT_TRUE(read_ms(sensors, start_ms).empty());
  EXPECT_EQ(sensors[0]->trouble(), "the I/O registry has no IOAccelerator with PerformanceStatistics");
}

/// A counter of energy that is read every 100 ms.
class EnergyReportTest : public testing::Test {
 protected:
  EnergyReportTest() {
    make_energy_report_sensors({[this](std::vector<EnergyChannel>& channels) {
                                 channels = {{"ECPU", "mJ", 77}, {"GPU SRAM", "mJ", 5}};
                                 if (has_channel) {
                                   channels.push_back({"GPU Energy", unit, value});
                                 }
                                 return error;
                               }},
                               sensors);
  }

  test::Readings read_at(std::int64_t now_ms) { return read_ms(sensors, now_ms); }
  [[nodiscard]] std::uint8_t energy_flags() const { return sensors[0]->readings().at(0).flags; }

  bool has_channel = true;
  std::string unit = "nJ";
  std::int64_t value = 0;
  std::string error;
  SensorList sensors;
  const std::string energy = "gpu_energy{gpu=0}";
  const std::string power = "gpu_power{gpu=0}";
};

TEST_F(EnergyReportTest, PowerIsKnownForWholeBatchesAlone) {
  // 3 W: 6 J every two seconds, at 1700 ms for the first time, which ends a batch that began before the first read.
  std::map<std::int64_t, double> powers;
  double last_energy = 0;
  for (std::int64_t now = start_ms; now <= start_ms + 6000; now += 100) {
    const std::int64_t since = now - start_ms;
    value = 5'000'000'000 + (since < 700 ? 0 : (since - 700) / 2000 + 1) * 6'000'000'000;
    const test::Readings readings = read_at(now);
    if (readings.count(power) != 0) {
      powers[since] = readings.at(power);
    }
    last_energy = readings.at(energy);
    const bool has_moved = since == 700 || since == 2700 || since == 4700;
    EXPECT_EQ(energy_flags() == SampleRun::stale, !has_moved && since != 0) << since;
  }
  EXPECT_EQ(powers, (std::map<std::int64_t, double>{{2700, 3.0}, {4700, 3.0}}));
  EXPECT_EQ(last_energy, 18.0);
}

TEST_F(EnergyReportTest, ProvenanceSaysThatEnergyComesInBatches) {
  read_at(start_ms);
  const MetricDeclaration joules = test::declaration_of(sensors, energy);
  EXPECT_EQ(joules.kind, MetricKind::energy_counter);
  EXPECT_EQ(joules.unit, "J");
  EXPECT_EQ(joules.step, 1e-9);
  EXPECT_EQ(joules.renewal_ns, 2'000'000'000);
  EXPECT_EQ(joules.source, "IOReport Energy Model: GPU Energy");
  EXPECT_EQ(sensors[0]->metrics().at(1).window_ns, 2'000'000'000);
}

TEST_F(EnergyReportTest, UnitsAreThoseOfTheChannel) {
  const std::map<std::string, double> joules{{"nJ", 1e-9}, {"uJ", 1e-6}, {"mJ", 1e-3}};
  std::int64_t now = start_ms;
  for (const auto& [name, scale] : joules) {
    sensors.clear();
    make_energy_report_sensors({[this, &name = name](std::vector<EnergyChannel>& channels) {
                                 channels = {{"GPU Energy", name, value}};
                                 return std::string();
                               }},
                               sensors);
    value = 1000;
    read_at(now);
    value = 3000;
    EXPECT_DOUBLE_EQ(read_at(now + 2000).at(energy), 2000 * scale) << name;
    now += 4000;
  }
}

TEST_F(EnergyReportTest, AUnitThatIsNotKnownIsSaid) {
  unit = "kWh";
  value = 12;
  EXPECT_TRUE(read_at(start_ms).empty());
  EXPECT_EQ(sensors[0]->trouble(), "IOReport's \"GPU Energy\" is not understood: 12 kWh");
}

TEST_F(EnergyReportTest, ACounterOf32BitsMayWrapAround) {
  value = 0xFFFFFFF0;
  unit = "mJ";
  read_at(start_ms);
  value = 0x10;
  EXPECT_DOUBLE_EQ(read_at(start_ms + 2000).at(energy), 0.032);
}

TEST_F(EnergyReportTest, ACounterThatBeginsAnewIsAGap) {
  value = 9'000'000'000;
  read_at(start_ms);
  value = 12'000'000'000;
  EXPECT_EQ(read_at(start_ms + 2000).at(energy), 3.0);
  value = 1'000'000'000;
  EXPECT_TRUE(std::isnan(read_at(start_ms + 4000).at(energy)));
  value = 2'000'000'000;
  const test::Readings readings = read_at(start_ms + 6000);
  EXPECT_EQ(readings.at(energy), 4.0);
  EXPECT_EQ(readings.count(power), 0U);  // the batch began before the counter was known
}

TEST_F(EnergyReportTest, AMissingChannelIsSaidAndNeverZero) {
  has_channel = false;
  EXPECT_TRUE(read_at(start_ms).empty());
  EXPECT_TRUE(sensors[0]->is_unavailable());
  EXPECT_EQ(sensors[0]->trouble(), "IOReport's group \"Energy Model\" has no channel \"GPU Energy\"");
}

TEST_F(EnergyReportTest, AChannelThatVanishesLeavesAGapAndComesBack) {
  value = 1'000'000'000;
  read_at(start_ms);
  value = 3'000'000'000;
  read_at(start_ms + 2000);
  has_channel = false;
  EXPECT_TRUE(std::isnan(read_at(start_ms + 4000).at(energy)));
  EXPECT_TRUE(read_at(start_ms + 5000).empty());
  has_channel = true;
  value = 9'000'000'000;
  // What it counted meanwhile is not known to belong here.
  EXPECT_EQ(read_at(start_ms + 7000).at(energy), 2.0);
}

TEST_F(EnergyReportTest, ALibraryThatIsNotThereIsTheReason) {
  error = "cannot load /usr/lib/libIOReport.dylib";
  EXPECT_TRUE(read_at(start_ms).empty());
  EXPECT_EQ(sensors[0]->trouble(), "cannot load /usr/lib/libIOReport.dylib");
}

}  // namespace
}  // namespace kymo::sense
