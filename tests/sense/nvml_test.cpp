// What is read of NVIDIA GPUs: on a stand-in of the library, and on the real one where there is one.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <string>

#include "nvml_fixture.hpp"
#include "support/child_process.hpp"

namespace kymo::test {
namespace {

TEST(Nvml, EveryReadingOfBothGpusIsThere) {
  const Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  const Readings readings = fake.read(sensors, 700);
  for (const unsigned gpu : {0U, 1U}) {
    EXPECT_EQ(readings.at(on(gpu, "gpu_util")), 7 + gpu);
    EXPECT_EQ(readings.at(on(gpu, "gpu_mem_util")), 21 + gpu);
    EXPECT_EQ(readings.at(on(gpu, "gpu_mem")), gib);
    EXPECT_EQ(readings.at(on(gpu, "gpu_mem_total")), 80 * gib);
    EXPECT_EQ(readings.at(on(gpu, "gpu_power")), 207);
    EXPECT_EQ(readings.at(on(gpu, "gpu_power_average")), 190);
    EXPECT_EQ(readings.at(on(gpu, "gpu_energy")), 1140);
    EXPECT_EQ(readings.at(on(gpu, "gpu_temp")), 40 + gpu);
    EXPECT_EQ(readings.at(on(gpu, "gpu_clock")), 1755);
    EXPECT_EQ(readings.at(on(gpu, "gpu_mem_clock")), 1593);
    EXPECT_EQ(readings.at(on(gpu, "pcie")), 2'300'000);
    EXPECT_EQ(readings.at(on(gpu, "pcie_tx")), 2'000'000);
    EXPECT_EQ(readings.at(on(gpu, "pcie_rx")), 300'000);
    EXPECT_EQ(readings.at(on(gpu, "gpu_encoder")), 12);
    EXPECT_EQ(readings.at(on(gpu, "gpu_decoder")), 34);
    EXPECT_EQ(readings.at(on(gpu, "gpu_throttle")), 0x44);
    EXPECT_EQ(readings.at(on(gpu, "gpu_fan")), 30 + gpu);
    EXPECT_EQ(readings.at(on(gpu, "gpu_ecc_corrected")), 5);
    EXPECT_EQ(readings.at(on(gpu, "gpu_ecc_uncorrected")), 1);
    EXPECT_EQ(readings.at(on(gpu, "nvlink_tx")), 7 * 3000 * 1024);
    EXPECT_EQ(readings.at(on(gpu, "nvlink_rx")), 7 * 5000 * 1024);
    EXPECT_EQ(readings.at(on(gpu, "gpu_xid_errors")), 0);
  }
  EXPECT_EQ(readings.at(on(0, "gpu_power_limit")), 350);
  EXPECT_EQ(readings.at(on(1, "gpu_power_limit")), 312.5);
  EXPECT_EQ(readings.at(on(0, "gpu_mem_temp")), 61);
  EXPECT_EQ(readings.count(on(1, "gpu_mem_temp")), 0U) << "not supported";
  EXPECT_EQ(readings.at(on(0, "gpu_pstate")), 2);
  EXPECT_EQ(declaration_of(sensors, on(0, "gpu_ecc_corrected")).kind, MetricKind::counter);
  EXPECT_EQ(declaration_of(sensors, on(0, "nvlink_tx")).kind, MetricKind::counter);
  for (const auto& each : sensors) {
    EXPECT_EQ(each->name(), "nvml");
    EXPECT_EQ(each->trouble(), "");
  }
}

TEST(Nvml, ACallThatComputesForLongRestsAndTheOthersDoNot) {
  Fake fake(FAKE_NVML);
  fake->energy_cost_ns = 4 * ms;
  const SensorList sensors = fake.make();
  EXPECT_EQ(fake.read(sensors, 0).count(on(0, "gpu_energy")), 1U);
  const Readings soon = fake.read(sensors, 900);
  EXPECT_EQ(soon.count(on(0, "gpu_energy")), 0U) << "4 ms are 1/250 of a second";
  EXPECT_EQ(soon.at(on(0, "gpu_temp")), 40);
  EXPECT_GE(declaration_of(sensors, on(0, "gpu_energy")).renewal_ns, second);
  EXPECT_EQ(fake.read(sensors, 60'000).at(on(0, "gpu_energy")), 13'000);
  EXPECT_EQ(sensor_of(sensors, 0, Tier::medium).trouble(), "");
}

TEST(Nvml, ASingleSlowCallDoesNotSilenceItsMetric) {
  Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  (void)fake.read(sensors, 0);
  (void)fake.read(sensors, 100);
  fake->energy_cost_ns = 40 * ms;
  EXPECT_EQ(fake.read(sensors, 200).count(on(0, "gpu_energy")), 1U);
  EXPECT_EQ(fake.read(sensors, 300).count(on(0, "gpu_energy")), 1U);
  EXPECT_EQ(fake.read(sensors, 400).count(on(0, "gpu_energy")), 0U) << "two of three";
  fake->energy_cost_ns = 0;
  EXPECT_EQ(fake.read(sensors, 10'400).count(on(0, "gpu_energy")), 1U) << "40 ms are 1/250 of ten seconds";
}

TEST(Nvml, TheFirstCallIsAskedAgainAfterASecondHoweverSlowItWas) {
  Fake fake(FAKE_NVML);
  fake->energy_cost_ns = 40 * ms;
  const SensorList sensors = fake.make();
  EXPECT_EQ(fake.read(sensors, 0).count(on(0, "gpu_energy")), 1U);
  fake->energy_cost_ns = 0;
  EXPECT_EQ(fake.read(sensors, 900).count(on(0, "gpu_energy")), 0U);
  EXPECT_EQ(fake.read(sensors, 1'000).count(on(0, "gpu_energy")), 1U);
  EXPECT_EQ(fake.read(sensors, 1'100).count(on(0, "gpu_energy")), 1U);
}

TEST(Nvml, PowerNowAndPowerAveragedAreToldApart) {
  const Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  (void)fake.read(sensors, 0);
  const MetricDeclaration now = declaration_of(sensors, on(0, "gpu_power"));
  EXPECT_EQ(now.source, "nvmlDeviceGetFieldValues(NVML_FI_DEV_POWER_INSTANT)");
  EXPECT_EQ(now.window_ns, 0);
  EXPECT_EQ(now.unit, "W");
  EXPECT_EQ(now.step, 0.001);
  EXPECT_EQ(declaration_of(sensors, on(0, "gpu_power_average")).window_ns, second);
  EXPECT_EQ(declaration_of(sensors, on(0, "gpu_energy")).kind, MetricKind::energy_counter);
  EXPECT_EQ(declaration_of(sensors, on(0, "gpu_encoder")).window_ns, 167 * ms);
  EXPECT_EQ(declaration_of(sensors, on(0, "gpu_decoder")).window_ns, 200 * ms);
  EXPECT_EQ(declaration_of(sensors, on(0, "pcie_tx")).window_ns, 20 * ms);
}

TEST(Nvml, WherePowerNowIsNotKnownItsWindowDependsOnTheChip) {
  const Fake fake(FAKE_NVML);
  for (const unsigned gpu : {0U, 1U}) {
    fake->fail(gpu, FakeCall::instant_power, not_supported);
    fake->fail(gpu, FakeCall::average_power, not_supported);
  }
  const SensorList sensors = fake.make();
  const Readings readings = fake.read(sensors, 200);
  EXPECT_EQ(readings.at(on(0, "gpu_power")), 101);
  EXPECT_EQ(readings.count(on(0, "gpu_power_average")), 0U);
  EXPECT_EQ(declaration_of(sensors, on(0, "gpu_power")).source, "nvmlDeviceGetPowerUsage");
  EXPECT_EQ(declaration_of(sensors, on(0, "gpu_power")).window_ns, second);
  // An A100: its chip does not average.
  EXPECT_EQ(declaration_of(sensors, on(1, "gpu_power")).window_ns, 0);
  fake->architecture = 6;
  const SensorList older = fake.make();
  (void)fake.read(older, 300);
  EXPECT_EQ(declaration_of(older, on(0, "gpu_power")).window_ns, 0);
}

TEST(Nvml, RepeatedValuesAreStaleAndTheirRenewalIsMeasured) {
  const Fake fake(FAKE_NVML);
  const SensorList sensors = fake.make();
  const Sensor& fast = sensor_of(sensors, 0, Tier::fast);
  unsigned fresh = 0;
  constexpr std::int64_t step = 10;
  for (std::int64_t now = 0; now < 10'000; now += step) {
    (void)fake.read(sensors, now);
    for (std::size_t i = 0; now >= 5000 && i < fast.metrics().size(); ++i) {
      if (fast.metrics()[i].name == "gpu_power" && (fast.readings()[i].flags & SampleRun::stale) == 0) {
        ++fresh;
      }
    }
  }
  const MetricDeclaration metric = declaration_of(sensors, on(0, "gpu_power"));
  EXPECT_NEAR(static_cast<double>(metric.renewal_ns), static_cast<double>(fake_renewal_ms * ms), 11.0 * ms);
  EXPECT_NE(metric.traits & MetricDeclaration::renewal_measured, 0U);
  // Fifty new values in five seconds; around a renewal's time one more may count as fresh.
  EXPECT_GE(fresh, 50U);
  EXPECT_LE(fresh, 150U);
}

/// A metric of the processes below `root` on the second GPU; -1: a gap.
double read_of_tree(const Fake& fake, const std::string& metric, std::uint64_t root, bool sees_all) {
  sense::SensorContext context;
  context.process = root;
  sense::NvmlGpu gpu;
  std::string why;
  gpu.nvml = sense::NvmlLibrary::open(FAKE_NVML, why, why);
  gpu.index = 1;
  gpu.users = std::make_shared<sense::GpuUsers>(context);
  gpu.sees_all_processes = sees_all;
  EXPECT_EQ(open_gpu(gpu), sense::NvmlReturn::success);
  SensorList list;
  list.push_back(std::make_unique<sense::NvmlSensor>(Tier::medium, gpu));
  const Readings readings = fake.read(list, 0);
  const auto found = readings.find(on(1, metric));
  return found == readings.end() || std::isnan(found->second) ? -1 : found->second;
}

TEST(Nvml, MemoryIsTheSumOverTheProcessTreeOrAGap) {
  const Fake fake(FAKE_NVML);
  ChildProcess child({"/bin/sleep", "60"});
  const auto read = [&fake](std::uint64_t root, bool sees_all) {
    return read_of_tree(fake, "gpu_process_mem", root, sees_all);
  };
  const auto self = static_cast<std::uint64_t>(::getpid());
  const auto of_child = static_cast<unsigned>(child.pid());
  EXPECT_EQ(read(self, true), 0) << "nobody uses it";
  fake->process = of_child;
  EXPECT_EQ(read(self, true), 3 * gib);
  fake->graphics_process = static_cast<unsigned>(self);
  EXPECT_EQ(read(self, true), 4 * gib);
  EXPECT_EQ(read(of_child, true), 3 * gib) << "its parent is not of the tree";
  fake->graphics_process = of_child;
  EXPECT_EQ(read(self, true), 3 * gib) << "one process in both lists";
  fake->other_processes = 500;
  EXPECT_EQ(read(self, true), 3 * gib);
  // The driver of a container's host knows processes by other numbers, and a list that fails may have some of the tree.
  EXPECT_EQ(read(self, false), -1);
  fake->fail(1, FakeCall::graphics_processes, unknown_error);
  EXPECT_EQ(read(self, true), -1);
  fake->fail(1, FakeCall::graphics_processes, 0);
  child.signal(SIGKILL);
  EXPECT_EQ(child.wait(), -SIGKILL);
  EXPECT_EQ(read(of_child, true), -1) << "the recorded process has ended";
}

TEST(Nvml, TheShareIsThatOfTheProcessTreeOverASecond) {
  const Fake fake(FAKE_NVML);
  fake->process = static_cast<unsigned>(::getpid());
  const auto read = [&fake](bool sees_all) {
    return read_of_tree(fake, "gpu_process_util", static_cast<std::uint64_t>(::getpid()), sees_all);
  };
  EXPECT_EQ(read(true), 0) << "nobody uses it";
  const auto wall_us = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  fake->share = 50;
  fake->share_time = static_cast<unsigned long long>(wall_us()) + 60'000'000;  // new for the whole test
  EXPECT_EQ(read(true), 45) << "the mean of two samples, without the other process";
  EXPECT_EQ(read(false), -1) << "a container's numbers are others";
  fake->share_time = static_cast<unsigned long long>(wall_us()) - 5'000'000;
  EXPECT_EQ(read(true), 0) << "it has been idle since";
  fake->fail(1, FakeCall::shares, unknown_error);
  EXPECT_EQ(read(true), -1);
}

TEST(Nvml, UnitsAreReadOverTheTimeBetweenTwoReads) {
  const Fake fake(FAKE_NVML);
  {
    const SensorList sensors = fake.make();
    EXPECT_EQ(fake.read(sensors, 0).count(on(0, "gpu_sm_util")), 0U) << "nothing to compare with";
    EXPECT_TRUE(declaration_of(sensors, on(1, "gpu_sm_util")).name.empty()) << "an A100 has none";
    Readings readings = fake.read(sensors, 100);
    EXPECT_EQ(readings.at(on(0, "gpu_sm_util")), 3);
    EXPECT_EQ(readings.at(on(0, "gpu_sm_occupancy")), 4);
    EXPECT_EQ(readings.at(on(0, "gpu_tensor_util")), 6);
    EXPECT_EQ(readings.at(on(0, "gpu_dram_util")), 11);
    EXPECT_EQ(fake.read(sensors, 110).count(on(0, "gpu_sm_util")), 0U) << "too early for a new value";
    EXPECT_EQ(fake.read(sensors, 300).at(on(0, "gpu_sm_util")), 4);
    // After a gap the counters begin anew.
    fake->fail(0, FakeCall::units, unknown_error);
    EXPECT_TRUE(std::isnan(fake.read(sensors, 400).at(on(0, "gpu_sm_util"))));
    fake->fail(0, FakeCall::units, 0);
    EXPECT_EQ(fake.read(sensors, 500).count(on(0, "gpu_sm_util")), 0U) << "the gap goes on";
    EXPECT_EQ(fake.read(sensors, 600).at(on(0, "gpu_sm_util")), 3);
    fake->has_huge_values = true;
    EXPECT_TRUE(std::isnan(fake.read(sensors, 700).at(on(0, "gpu_sm_util"))));
    EXPECT_EQ(fake->open_samples, 2);
  }
  EXPECT_EQ(fake->open_samples, 0);
}

TEST(Nvml, CriticalErrorsAreCountedAndTheLastOneIsNamed) {
  const Fake fake(FAKE_NVML);
  {
    const SensorList sensors = fake.make();
    Readings readings = fake.read(sensors, 0);
    EXPECT_EQ(readings.at(on(0, "gpu_xid_errors")), 0);
    EXPECT_TRUE(readings.count(on(0, "gpu_xid")) == 0 || std::isnan(readings.at(on(0, "gpu_xid"))));
    fake->error_event = 79;
    readings = fake.read(sensors, 100);
    EXPECT_EQ(readings.at(on(0, "gpu_xid_errors")), 1);
    EXPECT_EQ(readings.at(on(0, "gpu_xid")), 79);
    EXPECT_EQ(readings.at(on(1, "gpu_xid_errors")), 0);
    fake->error_event = 31;
    EXPECT_EQ(fake.read(sensors, 200).at(on(0, "gpu_xid")), 31);
    EXPECT_EQ(fake.read(sensors, 300).at(on(0, "gpu_xid_errors")), 2);
    EXPECT_EQ(fake->open_events, 2);
  }
  EXPECT_EQ(fake->open_events, 0);
}

TEST(Nvml, TheInstancesOfASharedOutGpuHaveMemoryAndUnits) {
  const Fake fake(FAKE_NVML);
  fake->is_shared_out = true;
  const SensorList sensors = fake.make();
  EXPECT_EQ(sensors.size(), 10U);
  (void)fake.read(sensors, 0);
  const Readings readings = fake.read(sensors, 100);
  const auto of = [](const std::string& metric, unsigned instance) {
    return metric + "{gpu=1,mig=" + std::to_string(instance) + ",uuid=GPU-00000001}";
  };
  EXPECT_EQ(readings.at(of("gpu_mem", 0)), gib);
  EXPECT_EQ(readings.at(of("gpu_mem", 2)), gib);
  EXPECT_EQ(readings.at(of("gpu_sm_util", 0)), 2 + 70 + 1);
  EXPECT_EQ(readings.at(of("gpu_sm_util", 2)), 2 + 90 + 1);
  EXPECT_EQ(readings.count(of("gpu_mem", 1)), 0U);
  EXPECT_EQ(readings.count(of("gpu_power", 0)), 0U) << "power is that of the GPU";
  EXPECT_EQ(readings.at(on(1, "gpu_power")), 201);
}

TEST(Nvml, NameDriverAndPowerLimitAreFactsOfTheRun) {
  const Fake fake(FAKE_NVML);
  std::map<std::string, std::string> facts;
  for (const auto& sensor : fake.make()) {
    facts.insert(sensor->facts().begin(), sensor->facts().end());
  }
  EXPECT_EQ(facts, (std::map<std::string, std::string>{{"gpu.driver", "535.104.05"},
                                                       {"gpu.0.name", "NVIDIA H100 PCIe"},
                                                       {"gpu.0.power_limit", "350 W"},
                                                       {"gpu.1.name", "NVIDIA A100-SXM4-80GB"},
                                                       {"gpu.1.power_limit", "312.5 W"}}));
}

TEST(Nvml, ARealGpuGivesSaneReadings) {
  SensorList sensors;
  make_nvml_sensors({}, sensors);
  if (sensors.size() == 1 && sensors.front()->is_unavailable()) {
    GTEST_SKIP() << sensors.front()->trouble();
  }
  const Readings first = read_all(sensors, second);
  const Readings later = read_all(sensors, 2 * second);
  EXPECT_FALSE(first.empty());
  const auto check = [](const std::string& key, double value, const std::string& name, double least, double most) {
    if (key.rfind(name + "{", 0) == 0) {
      EXPECT_GE(value, least) << key;
      EXPECT_LE(value, most) << key;
    }
  };
  for (const auto& [key, value] : later) {
    for (const char* const name : {"gpu_util", "gpu_mem_util", "gpu_encoder", "gpu_decoder", "gpu_sm_util",
                                   "gpu_sm_occupancy", "gpu_tensor_util", "gpu_dram_util", "gpu_process_util"}) {
      check(key, value, name, 0, 100);
    }
    check(key, value, "gpu_power", 5, 1500);
    check(key, value, "gpu_power_average", 5, 1500);
    check(key, value, "gpu_temp", 0, 110);
    check(key, value, "gpu_mem_total", gib / 4, 4096 * gib);
    check(key, value, "gpu_clock", 50, 5000);
    check(key, value, "pcie", 0, 1e12);
    if (key.rfind("gpu_energy{", 0) == 0) {
      EXPECT_GE(value, first.at(key));
    }
    if (key.rfind("gpu_mem{", 0) == 0) {
      EXPECT_LE(value, later.at("gpu_mem_total" + key.substr(7)));
    }
  }
}

}  // namespace
}  // namespace kymo::test
