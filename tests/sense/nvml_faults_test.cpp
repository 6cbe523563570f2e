// NVIDIA GPUs whose driver or library fails, is old, or is missing; forks and threads meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "nvml_fixture.hpp"

namespace kymo::test {
namespace {

TEST(Nvml, AnOlderLibraryLacksOnlyWhatItLacks) {
  const Fake fake(FAKE_OLD_NVML);
  const SensorList sensors = fake.make();
  const Readings readings = fake.read(sensors, 200);
  EXPECT_EQ(readings.at(on(1, "gpu_util")), 3);
  EXPECT_EQ(readings.at(on(1, "gpu_mem")), 2 * gib);
  EXPECT_EQ(readings.at(on(1, "gpu_power")), 101);
  EXPECT_EQ(readings.at(on(1, "gpu_throttle")), 4);
  EXPECT_EQ(declaration_of(sensors, on(1, "gpu_throttle")).source, "nvmlDeviceGetCurrentClocksThrottleReasons");
  for (const char* const metric : {"gpu_energy", "gpu_process_mem", "gpu_power_average"}) {
    EXPECT_EQ(readings.count(on(1, metric)), 0U) << metric;
    EXPECT_EQ(declaration_of(sensors, on(1, metric)).name, "") << metric;
  }
  for (const auto& each : sensors) {
    EXPECT_EQ(each->trouble(), "");
  }
}

TEST(Nvml, WhatAGpuDoesNotSupportIsLeftOut) {
  const Fake fake(FAKE_NVML);
  fake->fail(0, FakeCall::utilization, not_supported);
  for (const FakeCall slow : {FakeCall::pcie, FakeCall::fan, FakeCall::power_limit, FakeCall::memory_errors}) {
    fake->fail(0, slow, not_supported);
  }
  const SensorList sensors = fake.make();
  const Readings readings = fake.read(sensors, 0);
  EXPECT_EQ(readings.count(on(0, "gpu_util")), 0U);
  EXPECT_EQ(readings.count(on(1, "gpu_util")), 1U);
  EXPECT_EQ(readings.count(on(0, "pcie")), 0U);
  EXPECT_EQ(readings.count(on(0, "gpu_power")), 1U);
  EXPECT_EQ(sensor_of(sensors, 0, Tier::fast).trouble(), "");
  EXPECT_TRUE(sensor_of(sensors, 0, Tier::slow).is_unavailable());
}

TEST(Nvml, WhereTheNewerCallForMemoryIsNotTakenTheOlderOneIs) {
  const Fake fake(FAKE_NVML);
  fake->fail(0, FakeCall::memory_v2, not_supported);
  fake->fail(1, FakeCall::memory_v2, version_mismatch);
  const SensorList sensors = fake.make();
  const Readings readings = fake.read(sensors, 0);
  for (const unsigned gpu : {0U, 1U}) {
    EXPECT_EQ(readings.at(on(gpu, "gpu_mem")), 2 * gib) << "with what the driver reserves";
    EXPECT_EQ(declaration_of(sensors, on(gpu, "gpu_mem")).source, "nvmlDeviceGetMemoryInfo");
    EXPECT_EQ(sensor_of(sensors, gpu, Tier::fast).trouble(), "");
  }
}

TEST(Nvml, AnErrorIsAGapOfThatMetricUntilItIsOver) {
  const Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  (void)fake.read(sensors, 0);
  fake->fail(0, FakeCall::instant_power, unknown_error);
  // Supported before: this is an error now.
  fake->fail(0, FakeCall::temperature, not_supported);
  Readings readings = fake.read(sensors, 100);
  EXPECT_TRUE(std::isnan(readings.at(on(0, "gpu_power"))));
  EXPECT_TRUE(std::isnan(readings.at(on(0, "gpu_temp"))));
  EXPECT_EQ(readings.at(on(0, "gpu_util")), 1);
  EXPECT_EQ(readings.at(on(1, "gpu_power")), 201);
  const Sensor& fast = sensor_of(sensors, 0, Tier::fast);
  EXPECT_NE(fast.trouble().find("GPU 0: nvmlDeviceGetFieldValues"), std::string::npos) << fast.trouble();
  EXPECT_NE(fast.trouble().find("Unknown Error"), std::string::npos) << fast.trouble();
  EXPECT_FALSE(fast.is_unavailable());
  // A gap is said once.
  EXPECT_EQ(fake.read(sensors, 200).count(on(0, "gpu_power")), 0U);
  fake->fail(0, FakeCall::instant_power, 0);
  fake->fail(0, FakeCall::temperature, 0);
  readings = fake.read(sensors, 300);
  EXPECT_EQ(readings.at(on(0, "gpu_power")), 203);
  EXPECT_EQ(readings.at(on(0, "gpu_temp")), 40);
  EXPECT_EQ(fast.trouble(), "");
}

TEST(Nvml, AGpuThatFallsOffIsAGapAndTheOtherGoesOn) {
  const Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  (void)fake.read(sensors, 0);
  for (unsigned call = 0; call < static_cast<unsigned>(FakeCall::calls); ++call) {
    fake->error[0][call] = gpu_is_lost;
  }
  Readings readings = fake.read(sensors, 100);
  EXPECT_TRUE(std::isnan(readings.at(on(0, "gpu_util"))));
  EXPECT_TRUE(std::isnan(readings.at(on(0, "pcie_rx"))));
  EXPECT_EQ(readings.at(on(1, "gpu_util")), 2);
  for (const Tier tier : {Tier::fast, Tier::medium, Tier::slow}) {
    EXPECT_TRUE(sensor_of(sensors, 0, tier).is_unavailable());
    EXPECT_NE(sensor_of(sensors, 0, tier).trouble().find("GPU is lost"), std::string::npos);
    EXPECT_NE(sensor_of(sensors, 0, tier).advice(), "");
    EXPECT_FALSE(sensor_of(sensors, 1, tier).is_unavailable());
  }
  for (unsigned call = 0; call < static_cast<unsigned>(FakeCall::calls); ++call) {
    fake->error[0][call] = 0;
  }
  readings = fake.read(sensors, 1200);
  EXPECT_EQ(readings.at(on(0, "gpu_util")), 12);
}

TEST(Nvml, AGpuThatIsThereOnlyLaterIsReadThen) {
  const Fake fake(FAKE_NVML);
  fake->fail(0, FakeCall::handle, gpu_is_lost);
  const SensorList sensors = fake.make();
  EXPECT_EQ(sensors.size(), 6U);
  EXPECT_EQ(fake.read(sensors, 0).count(on(1, "gpu_util")), 1U);
  EXPECT_TRUE(sensor_of(sensors, 0, Tier::fast).is_unavailable());
  fake->fail(0, FakeCall::handle, 0);
  EXPECT_EQ(fake.read(sensors, 1100).at(on(0, "gpu_util")), 11);
}

TEST(Nvml, NumbersThatCannotBeAreGaps) {
  const Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  (void)fake.read(sensors, 0);
  fake->has_huge_values = true;
  EXPECT_TRUE(std::isnan(fake.read(sensors, 100).at(on(0, "gpu_util"))));
}

TEST(Nvml, TheLibraryIsInitialisedOnceAndShutDownWithTheLastSensor) {
  const Fake fake(FAKE_NVML);
  {
    SensorList first = fake.make();
    const SensorList second_list = fake.make();
    EXPECT_EQ(fake->initialisations, 1);
    first.clear();
    EXPECT_EQ(fake->initialised, 1);
    EXPECT_EQ(fake.read(second_list, 0).count(on(0, "gpu_util")), 1U);
  }
  EXPECT_EQ(fake->initialised, 0);
  const SensorList again = fake.make();
  EXPECT_EQ(fake->initialisations, 2);
}

TEST(Nvml, AForkedProcessMakesNoCall) {
  const Fake fake(FAKE_NVML);
  SensorList sensors = fake.make();
  (void)fake.read(sensors, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_silent =
        std::isnan(fake.read(sensors, 100).at(on(0, "gpu_util"))) && sensor_of(sensors, 0, Tier::fast).is_unavailable();
    sensors.clear();
    const SensorList own = fake.make();
    const bool is_refused = own.size() == 1 && own[0]->is_unavailable() && !own[0]->advice().empty();
    const bool is_untouched = fake->initialised == 1 && fake->initialisations == 1;
    ::_exit(is_silent && is_refused && is_untouched ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Nvml, TiersReadAtOnceFromThreadsOfTheirOwn) {
  const Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (const auto& each : sensors) {
    threads.emplace_back([&wrong, one = each.get()] {
      for (std::int64_t i = 1; i <= 500; ++i) {
        one->read(i * second);
        wrong += one->is_unavailable() || one->metrics().empty() ? 1U : 0U;
      }
    });
  }
  for (std::int64_t i = 0; i < 500; ++i) {
    fake->now_ms = i;
    const SensorList others = fake.make();
    EXPECT_EQ(others.size(), 6U);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(fake->initialisations, 1);
}

TEST(Nvml, WithoutADriverSomebodyIsToldWhatIsMissing) {
  const auto only_sensor = [](const std::string& library, const std::string& root = {}) {
    SensorList list;
    sense::SensorContext context;
    context.root = root;
    context.nvml_library = library;
    make_nvml_sensors(context, list);
    EXPECT_EQ(list.size(), 1U);
    list.front()->read(second);
    EXPECT_TRUE(list.front()->is_unavailable());
    return std::move(list.front());
  };
  EXPECT_EQ(only_sensor("libnvidia-ml-of-nobody.so.1")->trouble(), "libnvidia-ml-of-nobody.so.1 is not there");
  MachineTree tree;
  tree.write("/lib/libnvidia-ml.so.1", "no library");
  EXPECT_NE(only_sensor(tree.at("/lib/libnvidia-ml.so.1"))->trouble(), "");
  EXPECT_EQ(only_sensor("libm.so.6")->trouble(), "libm.so.6 lacks functions that every version has");
  // A machine of files has no GPUs of this machine.
  EXPECT_NE(only_sensor("libnvidia-ml.so.1", tree.root())->trouble().find(tree.root()), std::string::npos);
  const Fake fake(FAKE_NVML);
  fake->general_error = driver_not_loaded;
  const auto unloaded = only_sensor(FAKE_NVML);
  EXPECT_EQ(unloaded->trouble(), "nvmlInit_v2: Driver Not Loaded");
  EXPECT_NE(unloaded->advice(), "");
}

}  // namespace
}  // namespace kymo::test
