// Power sources and what a tracker makes of them: ramps, steps, counters, gaps.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <kymo/memory_tracker.hpp>
#include <kymo/power.hpp>

#include "sense/power/sensor_power.hpp"
#include "sense/touched_memory.hpp"
#include "support/nanoseconds.hpp"

namespace kymo::test {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// A source that says what a function says.
class ScriptedSource final : public PowerSource {
 public:
  explicit ScriptedSource(std::function<PowerReading(std::int64_t)> script) : script_(std::move(script)) {}
  [[nodiscard]] std::string name() const override { return "scripted"; }
  PowerReading read(std::int64_t now_ns) override { return script_(now_ns); }

 private:
  std::function<PowerReading(std::int64_t)> script_;
};

EnergyReport track(PowerSource& source, std::int64_t end_ns, std::int64_t step_ns) {
  PowerTracker tracker(source);
  for (std::int64_t now = 0; now <= end_ns; now += step_ns) {
    tracker.sample(now);
  }
  return tracker.report();
}

TEST(Integrate, IsExactForRampsAndWithinAThousandthForSteps) {
  std::vector<PowerSample> ramp;
  std::vector<PowerSample> step;
  for (int i = 0; i <= 10'000; ++i) {
    const double time_s = i / 1000.0;
    ramp.push_back({time_s, 5 + 3 * time_s});
    step.push_back({time_s, time_s < 4 ? 10.0 : 90.0});
  }
  EXPECT_NEAR(integrate(ramp), 5 * 10 + 3 * 50, 1e-6);
  EXPECT_NEAR(integrate(step), 580, 0.001 * 580);
}

TEST(Integrate, OfFewerThanTwoSamplesIsNothingAndWhatIsNoNumberIsLeftOut) {
  EXPECT_EQ(integrate({}), 0);
  EXPECT_EQ(integrate({{1, 50}}), 0);
  EXPECT_DOUBLE_EQ(integrate({{0, 10}, {1, missing}, {2, 10}}), 20);
  EXPECT_DOUBLE_EQ(integrate({{0, 10}, {1, 10}, {0.5, 10}}), 10) << "time does not go back";
}

TEST(PowerTracker, AddsUpRampsAndSteps) {
  FixedPowerSource ramp([](double time_s) { return 2 * time_s; });
  const EnergyReport report = track(ramp, 10'000 * ms, 100 * ms);
  EXPECT_NEAR(report.energy_j, 100, 1e-6);
  EXPECT_NEAR(report.mean_watts, 10, 1e-9);
  EXPECT_DOUBLE_EQ(report.peak_watts, 20);
  EXPECT_NEAR(report.duration_s, 10, 1e-9);
  EXPECT_EQ(report.samples, 101U);
  EXPECT_FALSE(report.is_counted);

  FixedPowerSource step([](double time_s) { return time_s < 3 ? 100.0 : 20.0; });
  EXPECT_NEAR(track(step, 10'000 * ms, ms).energy_j, 440, 0.001 * 440);
}

TEST(PowerTracker, OfNoSampleIsAllZeroAndOfOneItsMeanAndPeak) {
  FixedPowerSource source(42);
  PowerTracker tracker(source);
  EXPECT_EQ(tracker.report().energy_j, 0);
  EXPECT_EQ(tracker.report().mean_watts, 0);
  EXPECT_EQ(tracker.report().samples, 0U);
  tracker.sample(5);
  EXPECT_EQ(tracker.report().energy_j, 0);
  EXPECT_EQ(tracker.report().mean_watts, 42);
  EXPECT_EQ(tracker.report().peak_watts, 42);
  EXPECT_EQ(tracker.report().samples, 1U);
  tracker.sample(5);
  tracker.sample(4);
  EXPECT_EQ(tracker.report().samples, 1U) << "time does not go back";
}

TEST(PowerTracker, PrefersTheCounterAndTakesThePowerWhereItWentBack) {
  // The power reads 10 W; the counter says 30 W and is reset after 5 s.
  ScriptedSource source([](std::int64_t now_ns) {
    const double seconds = static_cast<double>(now_ns) / 1e9;
    return PowerReading{10, 30 * (seconds > 5 ? seconds - 5 : seconds)};
  });
  const EnergyReport report = track(source, 10'000 * ms, 1000 * ms);
  EXPECT_TRUE(report.is_counted);
  EXPECT_NEAR(report.energy_j, 9 * 30 + 10, 1e-9);
  EXPECT_EQ(report.unknown_s, 0);
}

TEST(PowerTracker, BoundsACounterByItsStepsAtBothEnds) {
  // 50 W in steps of 200 ms, read every 100 ms from 50 ms on: from 50 to 1050 ms it shows the five steps at 200, 400,
  // ... 1000.
  ScriptedSource source([](std::int64_t now_ns) {
    return PowerReading{missing, 50.0 * static_cast<double>(now_ns / (200 * ms)) * 0.2};
  });
  PowerTracker tracker(source);
  tracker.sample(50 * ms);
  EXPECT_EQ(tracker.report().bound_j, 0) << "nothing was counted yet";
  tracker.sample(150 * ms);
  EXPECT_TRUE(std::isinf(tracker.report().bound_j)) << "the counter has not moved";
  for (std::int64_t now = 250 * ms; now <= 1050 * ms; now += 100 * ms) {
    tracker.sample(now);
  }
  const EnergyReport report = tracker.report();
  EXPECT_NEAR(report.energy_j, 50, 1e-9) << "the truth is 50 W for one second";
  // The first step may be from before the start: 10 J. After the last one, of which nothing is known since 950 ms, the
  // source used at most the 50 W that were seen: 5 J.
  EXPECT_NEAR(report.bound_j, 10, 1e-9);
  // Steps that stay away after 1050 ms: at most 50 W since 950 ms.
  ScriptedSource stuck([](std::int64_t now_ns) {
    return PowerReading{missing,
                        50.0 * static_cast<double>(std::min<std::int64_t>(now_ns, 1000 * ms) / (200 * ms)) * 0.2};
  });
  PowerTracker late(stuck);
  for (std::int64_t now = 50 * ms; now <= 1450 * ms; now += 100 * ms) {
    late.sample(now);
  }
  EXPECT_NEAR(late.report().bound_j, 50 * 0.5, 1e-9);
}

TEST(PowerTracker, BoundsAGaugeByItsChanges) {
  FixedPowerSource constant(30);
  EXPECT_EQ(track(constant, 10'000 * ms, 100 * ms).bound_j, 0);
  // A step from 20 to 100 W, seen between 3 and 4 s: it was anywhere between.
  FixedPowerSource step([](double time_s) { return time_s < 3.25 ? 20.0 : 100.0; });
  const EnergyReport report = track(step, 6'000 * ms, 1000 * ms);
  const double truth = 3.25 * 20 + 2.75 * 100;
  EXPECT_DOUBLE_EQ(report.energy_j, 3 * 20 + 60 + 2 * 100);
  EXPECT_DOUBLE_EQ(report.bound_j, 80 * 4)
      << "nothing tells how often it renews itself: 20 W may be as old as the start";
  EXPECT_LE(std::abs(report.energy_j - truth), report.bound_j);
  FixedPowerSource ramp([](double time_s) { return 2 * time_s; });
  EXPECT_NEAR(track(ramp, 10'000 * ms, 100 * ms).bound_j, 20 * 0.1, 1e-9);
}

TEST(PowerTracker, TellsThePowerOfACounterAlone) {
  // Renewed every 200 ms, read every 100 ms.
  ScriptedSource source([](std::int64_t now_ns) {
    return PowerReading{missing, 50.0 * static_cast<double>(now_ns / (200 * ms)) * 0.2};
  });
  const EnergyReport report = track(source, 2000 * ms, 100 * ms);
  EXPECT_NEAR(report.energy_j, 100, 1e-9);
  EXPECT_NEAR(report.mean_watts, 50, 1e-9);
  EXPECT_NEAR(report.peak_watts, 50, 1e-9);
}

TEST(PowerTracker, SaysForHowLongTheSourceCouldNotBeRead) {
  ScriptedSource source([](std::int64_t now_ns) {
    return PowerReading{now_ns == 3000 * ms || now_ns == 4000 * ms ? missing : 10, missing};
  });
  const EnergyReport report = track(source, 10'000 * ms, 1000 * ms);
  EXPECT_DOUBLE_EQ(report.energy_j, 70);
  EXPECT_DOUBLE_EQ(report.unknown_s, 3);
  EXPECT_EQ(report.samples, 9U);
}

TEST(PowerTracker, KeepsTheLatestSamplesUnderItsLabel) {
  FixedPowerSource source([](double time_s) { return 10 * time_s; });
  PowerTracker tracker(source, PowerTrackerOptions{10, "ramp", 3});
  for (std::int64_t now = 0; now <= 5 * second; now += second) {
    tracker.sample(now);
  }
  const std::vector<PowerSample> samples = tracker.samples();
  ASSERT_EQ(samples.size(), 3U);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double time_s = 3 + static_cast<double>(i);
    EXPECT_EQ(samples[i].time_s, time_s);
    EXPECT_EQ(samples[i].watts, 10 * time_s);
  }
  EXPECT_EQ(tracker.report().label, "ramp");
  EXPECT_EQ(tracker.report().samples, 6U);
  EXPECT_DOUBLE_EQ(integrate(samples), 80);
  EXPECT_TRUE(PowerTracker(source).samples().empty());
}

TEST(PowerTracker, KeepsThePowerOfACounterBetweenItsRenewals) {
  // 20 W, renewed every second reading.
  ScriptedSource source([](std::int64_t now_ns) {
    return PowerReading{missing, 40.0 * static_cast<double>(now_ns / (2 * second))};
  });
  PowerTracker tracker(source, PowerTrackerOptions{10, {}, 100});
  for (std::int64_t now = 0; now <= 6 * second; now += second) {
    tracker.sample(now);
  }
  ASSERT_EQ(tracker.samples().size(), 3U);
  for (const PowerSample& sample : tracker.samples()) {
    EXPECT_DOUBLE_EQ(sample.watts, 20);
  }
}

TEST(PowerTracker, ReadsByItselfBetweenStartAndStop) {
  FixedPowerSource source(20);
  PowerTracker tracker(source, 1000);
  EXPECT_FALSE(tracker.is_running());
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(tracker.start());
    EXPECT_FALSE(tracker.start());
    EXPECT_TRUE(tracker.is_running());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (tracker.report().samples < 5 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    const EnergyReport report = tracker.stop();
    EXPECT_FALSE(tracker.is_running());
    EXPECT_GE(report.samples, 5U);
    EXPECT_GT(report.duration_s, 0);
    EXPECT_NEAR(report.energy_j, 20 * report.duration_s, 1e-6);
    EXPECT_EQ(tracker.stop().samples, report.samples);
  }
}

TEST(PowerTracker, RefusesRatesOutOfRange) {
  FixedPowerSource source(1);
  for (const double hz : {0.0, 0.05, 1001.0, -1.0, missing}) {
    EXPECT_THROW(PowerTracker(source, hz), std::invalid_argument) << hz;
  }
}

/// A sensor whose metrics and values a test gives.
class MadeUpSensor final : public sense::Sensor {
 public:
  MadeUpSensor(std::vector<MetricDeclaration> declarations, std::function<double(std::size_t, std::int64_t)> value)
      : Sensor("made up", Tier::medium), declarations_(std::move(declarations)), value_(std::move(value)) {}

  int reads = 0;

 protected:
  void read_source(std::int64_t now_ns) override {
    ++reads;
    if (metrics().empty()) {
      for (const MetricDeclaration& declaration : declarations_) {
        add_metric(declaration);
      }
    }
    for (std::size_t i = 0; i < metrics().size(); ++i) {
      set(i, value_(i, now_ns));
    }
  }

 private:
  std::vector<MetricDeclaration> declarations_;
  std::function<double(std::size_t, std::int64_t)> value_;
};

MetricDeclaration labelled(MetricDeclaration metric, std::vector<std::pair<std::string, std::string>> labels) {
  metric.labels = std::move(labels);
  return metric;
}

TEST(SensorPower, SaysWhyNothingCanBeRead) {
  const std::string reasons = explain_missing_power({"/nowhere", {"rapl", "hwmon", "cpu"}});
  EXPECT_NE(reasons.find("rapl: no energy counters"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find("hwmon: no power"), std::string::npos) << reasons;
  EXPECT_EQ(reasons.find("cpu:"), std::string::npos) << "what does not measure power has no part in it: " << reasons;
  EXPECT_THROW(static_cast<void>(explain_missing_power({"/", {"nonsense"}})), std::invalid_argument);
}

TEST(SensorPower, SumsWhatFeedsTheMachineAndKeepsGpusApart) {
  sense::SensorList list;
  std::vector<MetricDeclaration> cpu;
  for (const char* domain : {"package-0", "dram", "core"}) {
    cpu.push_back(labelled(sense::describe("cpu_energy", "J", "", MetricKind::energy_counter),
                           {{"package", "0"}, {"domain", domain}}));
    cpu.push_back(labelled(sense::describe("cpu_power", "W", ""), {{"package", "0"}, {"domain", domain}}));
  }
  auto sensor = std::make_unique<MadeUpSensor>(cpu, [](std::size_t metric, std::int64_t now_ns) {
    const double watts = metric < 2 ? 40 : (metric < 4 ? 5 : 1000);
    return metric % 2 == 1 ? watts : watts * static_cast<double>(now_ns) / 1e9;
  });
  const MadeUpSensor& made_up = *sensor;
  list.push_back(std::move(sensor));
  for (const char* gpu : {"0", "1"}) {
    list.push_back(std::make_unique<MadeUpSensor>(
        std::vector<MetricDeclaration>{labelled(sense::describe("gpu_power", "W", ""), {{"gpu", gpu}})},
        [gpu](std::size_t, std::int64_t) { return *gpu == '0' ? 200.0 : 300.0; }));
  }
  const auto sources = sense::make_power_sources(std::move(list), 1);
  ASSERT_EQ(sources.size(), 3U);
  EXPECT_EQ(sources[0]->name(), "cpu_energy package=0 domain=dram + cpu_energy package=0 domain=package-0");
  EXPECT_EQ(sources[1]->name(), "gpu_power gpu=0");
  const PowerReading reading = sources[0]->read(2000 * ms);
  EXPECT_NEAR(reading.watts, 45, 1e-9);
  EXPECT_NEAR(reading.joules, 90, 1e-9);
  EXPECT_EQ(made_up.reads, 2) << "once for both devices";
  EXPECT_NEAR(sources[2]->read(3000 * ms).watts, 300, 1e-9);
  EXPECT_TRUE(std::isnan(sources[2]->read(3000 * ms).joules));
  PowerTracker tracker(*sources[0]);
  for (std::int64_t now = 4000 * ms; now <= 14'000 * ms; now += 100 * ms) {
    tracker.sample(now);
  }
  EXPECT_NEAR(tracker.report().energy_j, 450, 1e-6);
  EXPECT_NEAR(tracker.report().mean_watts, 45, 1e-9);
  EXPECT_TRUE(tracker.report().is_counted);
}

/// What the kernel says of this process: "VmRSS" or "VmHWM", in bytes.
double status_bytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(name + ":", 0) == 0) {
      return std::stod(line.substr(name.size() + 1)) * 1024;
    }
  }
  return 0;
}

TEST(MemoryTracker, SeesMemoryThatIsTouched) {
  MemoryTracker tracker("run");
  const auto wall_us = [] {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const std::int64_t earliest_us = wall_us();
  const MemorySnapshot before = tracker.snapshot({1000, 200, 3});
  EXPECT_GE(before.timestamp_us, earliest_us);
  EXPECT_LE(before.timestamp_us, wall_us());
  constexpr std::size_t size = 64U << 20U;
  std::optional<TouchedMemory> touched(size);
  const MemorySnapshot during = tracker.snapshot({2000, 300, 4});
  constexpr double tolerance = 0.05 * static_cast<double>(size);
  EXPECT_NEAR(static_cast<double>(during.peak_rss_bytes), status_bytes("VmRSS"), tolerance);
  EXPECT_NEAR(static_cast<double>(during.peak_rss_bytes) - static_cast<double>(before.peak_rss_bytes),
              static_cast<double>(size), tolerance);
  touched.reset();
  const MemorySnapshot after = tracker.snapshot();
  EXPECT_LT(after.peak_rss_bytes, during.peak_rss_bytes) << "it is what is resident now";
  EXPECT_NEAR(static_cast<double>(after.process_peak_bytes), status_bytes("VmHWM"), tolerance);
  EXPECT_GE(after.process_peak_bytes + (1U << 20U), during.peak_rss_bytes);
  EXPECT_GE(after.monotonic_ns, before.monotonic_ns);

  const MemoryReport report = tracker.report();
  EXPECT_EQ(report.label, "run");
  EXPECT_EQ(report.snapshots, 3U);
  EXPECT_EQ(report.kv_cache_total, 3000U);
  EXPECT_EQ(report.activation_total, 500U);
  EXPECT_EQ(report.temp_buffer_total, 7U);
  EXPECT_EQ(report.peak_rss, during.peak_rss_bytes);
  EXPECT_EQ(report.process_peak,
            std::max({before.process_peak_bytes, during.process_peak_bytes, after.process_peak_bytes}));
  EXPECT_NEAR(report.mean_rss,
              static_cast<double>(before.peak_rss_bytes + during.peak_rss_bytes + after.peak_rss_bytes) / 3, 1);
  EXPECT_EQ(MemoryTracker("none").report().mean_rss, 0);
}

}  // namespace
}  // namespace kymo::test
