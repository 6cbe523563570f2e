#include <kymo/sampler.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>

#include <kymo/recorder.hpp>

#include "sense/machine_tree.hpp"
#include "sense/sampler/machine_lock.hpp"
#include "sense/sampler/sensors.hpp"
#include "sense/sampling_fixture.hpp"

namespace kymo {
namespace {

using test::wait_until;

constexpr const char* meminfo =
    "MemTotal:       16000000 kB\nMemFree:         4000000 kB\nMemAvailable:    9000000 kB\nBuffers:  10 kB\n"
    "Cached:          3000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 12 kB\n";

class SamplerTest : public test::SamplingTest {
 protected:
  SamplerTest() { tree_.write("/proc/meminfo", meminfo); }

  [[nodiscard]] SamplerOptions options() const {
    SamplerOptions options;
    options.fast_hz = 1000;
    options.sensors.root = tree_.root();
    options.sensors.sensors = {"memory"};
    return options;
  }

  test::MachineTree tree_;
};

TEST_F(SamplerTest, SamplesUntilItIsStoppedAndMayStartAgain) {
  Sampler sampler(options());
  EXPECT_FALSE(sampler.is_running());
  EXPECT_EQ(sampler.sample_count(), 0U);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(sampler.start());
    EXPECT_TRUE(sampler.is_running());
    EXPECT_FALSE(sampler.start()) << "it runs already";
    EXPECT_TRUE(sampler.wait_for_warmup(std::chrono::seconds(30)));
    EXPECT_GE(sampler.sample_count(), 10U);
    sampler.stop();
    EXPECT_FALSE(sampler.is_running());
    const std::uint64_t count = sampler.sample_count();
    EXPECT_EQ(sampler.sample_count(), count);
  }
  const std::vector<double> available = values_of("memory_available");
  EXPECT_GE(available.size(), 20U);
  EXPECT_EQ(available.front(), 9'000'000.0 * 1024);
  EXPECT_EQ(available.back(), 9'000'000.0 * 1024);
}

TEST_F(SamplerTest, ASensorThatIsMadeLateIsSampledAtItsOwnRateWhereItsTierIsOff) {
  // The sampler asks for NVIDIA's library by its name, which the stand-in has.
  ASSERT_NE(::dlopen(FAKE_NVML, RTLD_NOW), nullptr) << ::dlerror();
  for (const double slow_hz : {1.0, 0.0}) {
    SamplerOptions gpus;
    gpus.fast_hz = 0;
    gpus.medium_hz = 0;
    gpus.slow_hz = slow_hz;
    gpus.sensor_hz = {{"nvml", 50}};
    gpus.sensors.sensors = {"nvml"};
    const std::size_t before = values_of("gpu_power", "gpu=0,uuid=GPU-00000000").size();
    Sampler sampler(gpus);
    sampler.start();
    EXPECT_TRUE(wait_until([&] { return values_of("gpu_power", "gpu=0,uuid=GPU-00000000").size() > before + 2; }))
        << slow_hz;
    sampler.stop();
  }
}

TEST_F(SamplerTest, SyncPointsAreNumbered) {
  Sampler sampler(options());
  sampler.start();
  const std::uint64_t first = sampler.sync();
  EXPECT_GT(first, 0U);
  EXPECT_EQ(sampler.sync(), first + 1);
  EXPECT_EQ(sampler.sync(), first + 2);
}

TEST_F(SamplerTest, WhatMakesNoSenseIsToldBeforeAnythingStarts) {
  const auto message_of = [](const SamplerOptions& wrong) {
    try {
      const Sampler sampler(wrong);
    } catch (const std::invalid_argument& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  for (const double hz : {0.05, 1000.5, -1.0, std::nan(""), HUGE_VAL}) {
    SamplerOptions wrong = options();
    wrong.fast_hz = hz;
    EXPECT_NE(message_of(wrong).find("out of range"), std::string::npos) << hz;
    wrong = options();
    wrong.sensor_hz = {{"memory", hz}};
    EXPECT_NE(message_of(wrong).find("out of range"), std::string::npos) << hz;
  }
  SamplerOptions wrong = options();
  wrong.sensors.sensors = {"memroy"};
  EXPECT_NE(message_of(wrong).find("no sensor 'memroy'; there are cpu "), std::string::npos);
  wrong = options();
  wrong.sensor_hz = {{"nothing", 5}};
  EXPECT_NE(message_of(wrong).find("no sensor 'nothing'"), std::string::npos);
  wrong.sensor_hz = {{"memory.often", 5}};
  EXPECT_NE(message_of(wrong).find("no sensor 'memory.often'"), std::string::npos);
  wrong = options();
  wrong.cpus = {-1};
  EXPECT_NE(message_of(wrong).find("no CPU -1"), std::string::npos);
}

TEST_F(SamplerTest, ASensorsOwnRateGoesBeforeItsTiersAndThatOfItsPartBeforeIts) {
  SamplerOptions rates = options();
  rates.fast_hz = 0.1;  // a sample at the start, and the next long after the test
  rates.sensor_hz = {{"memory", 0}, {"memory.slow", 0}, {"memory.fast", 1000}};
  Sampler sampler(rates);
  sampler.start();
  EXPECT_TRUE(wait_until([&] { return values_of("memory_available").size() > 3; }));
}

TEST_F(SamplerTest, AValueFollowsItsFileAndAGapItsAbsence) {
  Sampler sampler(options());
  sampler.start();
  ASSERT_TRUE(sampler.wait_for_warmup(std::chrono::seconds(30)));
  tree_.write("/proc/meminfo", "MemTotal:       16000000 kB\nMemAvailable:    1000 kB\n");
  ASSERT_TRUE(wait_until([&] { return values_of("memory_available").back() == 1000.0 * 1024; }));
  tree_.write("/proc/meminfo", "");
  EXPECT_TRUE(wait_until([&] { return std::isnan(values_of("memory_available").back()); }));
  tree_.write("/proc/meminfo", meminfo);
  EXPECT_TRUE(wait_until([&] { return values_of("memory_available").back() == 9'000'000.0 * 1024; }));
}

TEST_F(SamplerTest, OneProcessSamplesTheMachineAndAnotherTakesOver) {
  auto first = std::make_unique<Sampler>(options());
  first->start();
  EXPECT_TRUE(first->samples_machine());
  SamplerOptions faster = options();
  faster.slow_hz = 10;
  Sampler second(faster);
  second.start();
  EXPECT_FALSE(second.samples_machine());
  first.reset();
  EXPECT_TRUE(wait_until([&] { return second.samples_machine(); }));
}

TEST_F(SamplerTest, TheLockIsThatOfOneProcess) {
  sense::MachineLock lock("/test/of/the/lock");
  ASSERT_TRUE(lock.try_acquire());
  EXPECT_TRUE(lock.try_acquire()) << "it is ours";
  const pid_t child = ::fork();
  if (child == 0) {
    sense::MachineLock other("/test/of/the/lock");
    const bool is_right = !other.try_acquire() && other.holder() == ::getppid();
    sense::MachineLock of_another_recording("/test/of/the/lock", "/home/me/run.kymo");
    const bool is_apart = of_another_recording.try_acquire();
    of_another_recording.release();
    sense::MachineLock of_another_root("/test/of/another");
    ::_exit(is_right && is_apart && of_another_root.try_acquire() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a child does not inherit it, and sees who has it";
  lock.release();
  sense::MachineLock other("/test/of/the/lock");
  EXPECT_TRUE(other.try_acquire());
}

TEST_F(SamplerTest, StartsStopsAndSyncPointsMayRace) {
  Sampler sampler(options());
  std::atomic<bool> is_done{false};
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < 20; ++i) {
      sampler.start();
      sampler.stop();
    }
    is_done = true;
  });
  threads.emplace_back([&] {
    while (!is_done) {
      sampler.start();
    }
  });
  threads.emplace_back([&] {
    while (!is_done) {
      sampler.sync();
      static_cast<void>(sampler.sample_count() + sampler.missed_deadlines(Tier::fast));
      static_cast<void>(sampler.is_running());
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) {
    thread.join();
  }
  sampler.stop();
  EXPECT_FALSE(sampler.is_running());
}

TEST_F(SamplerTest, ThePacesOfAllTiersStandInTheRecording) {
  SamplerOptions paces = options();
  paces.medium_hz = 0.5;
  paces.slow_hz = 0;
  Sampler sampler(paces);
  sampler.start();
  ASSERT_TRUE(sampler.wait_for_warmup(std::chrono::seconds(30)));
  sampler.stop();
  std::map<std::string, std::string> infos;
  for (const EventBatch& batch : recorded()) {
    for (const InfoDeclaration& info : batch.declarations.infos) {
      infos[info.key] = info.value;
    }
  }
  EXPECT_EQ(infos["sampler.fast_hz"], "1000");
  EXPECT_EQ(infos["sampler.medium_hz"], "0.5");
  EXPECT_EQ(infos["sampler.slow_hz"], "0");
}

TEST(SensorList, NamesCanBeChosenAndLeftOut) {
  const test::MachineTree tree;
  SensorOptions options;
  options.root = tree.root();
  const auto names = [&](sense::SensorGroup group = sense::SensorGroup::all) {
    std::vector<std::string> result;
    for (const auto& sensor : sense::make_sensors(options, group)) {
      if (result.empty() || result.back() != sensor->name()) {
        result.push_back(sensor->name());
      }
    }
    return result;
  };
  const std::vector<std::string> all = names();
  const std::vector<std::string> known = sense::sensor_names();
  for (const std::string& name : all) {
    EXPECT_NE(std::find(known.begin(), known.end(), name), known.end()) << name << " cannot be asked for";
  }
  options.sensors = {"memory", "disk"};
  EXPECT_EQ(names(), (std::vector<std::string>{"memory", "disk"}));
  options.sensors = {"-memory"};
  EXPECT_EQ(names().size() + 1, all.size());
  options.sensors = {};

  using Group = sense::SensorGroup;
  const std::vector<std::string> of_process = names(Group::of_process);
  std::vector<std::string> grouped = of_process;
  for (const Group group : {Group::quick_of_machine, Group::slow_of_machine}) {
    const std::vector<std::string> more = names(group);
    grouped.insert(grouped.end(), more.begin(), more.end());
  }
  EXPECT_EQ(grouped.size(), all.size()) << "each is of one group";
  EXPECT_TRUE(std::is_permutation(grouped.begin(), grouped.end(), all.begin(), all.end()));
  options.covers_machine = false;
  EXPECT_EQ(names(), of_process);
}

TEST(SensorList, AMachineWithoutAnyFileHasSensorsThatSayWhy) {
  const test::MachineTree tree;
  SensorOptions options;
  options.root = tree.root();
  for (const auto& sensor : sense::make_sensors(options)) {
    sensor->read(1'000'000'000);
    sensor->read(3'000'000'000);
    for (const sense::Reading& reading : sensor->readings()) {
      EXPECT_FALSE(reading.has_value) << sensor->name();
    }
    EXPECT_NE(sensor->trouble(), "") << sensor->name();
  }
}

}  // namespace
}  // namespace kymo
