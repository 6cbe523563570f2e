// Joules of functions, beside those of made-up programs on machines whose power is known.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/write/capture_writer.hpp"
#include "stats/energy/function_energy.hpp"
#include "stats/power_recording.hpp"
#include "support/temporary_directory.hpp"

namespace kymo::stats {
namespace {

using test::ms;
using test::second;

/// main calls work (stack 2) and rest (stack 3).
class FunctionEnergyTest : public ::testing::Test {
 protected:
  static constexpr StackId work{2};
  static constexpr StackId rest{3};

  void write(const std::vector<StackSample>& samples, const test::TruePower* power, std::int64_t renewal_ns = 10 * ms) {
    capture::CaptureWriterOptions options;
    options.declarations.processes.push_back({ProcessId{1}, 50, "here", "boot", "", "observer"});
    options.declarations.threads.push_back({ThreadId{1}, ProcessId{1}, 100, 100, "worker"});
    options.declarations.threads.push_back({ThreadId{2}, ProcessId{1}, 100, 101, "helper"});
    capture::CaptureWriter writer((directory_.path() / "run.kymo").string(), std::move(options));
    EventBatch batch;
    batch.end_ns = 10 * second;
    if (power != nullptr) {
      MetricDeclaration metric = test::energy_metric();
      metric.id = MetricId{1};
      metric.process = ProcessId{1};
      test::SamplingOptions sampling;
      sampling.renewal_ns = renewal_ns;
      const MetricSeries series = test::sample_energy(*power, sampling);
      batch.declarations.metrics.push_back(metric);
      batch.samples.push_back({MetricId{1}, series.times_ns, series.values, series.flags});
    }
    batch.declarations.functions = {
        {FunctionId{1}, {}, 1, "main"}, {FunctionId{2}, {}, 2, "work"}, {FunctionId{3}, {}, 3, "rest"}};
    batch.declarations.stacks = {
        {StackId{1}, {}, FunctionId{1}}, {work, StackId{1}, FunctionId{2}}, {rest, StackId{1}, FunctionId{3}}};
    batch.stack_samples = samples;
    writer.write(batch);
    writer.finish();
  }

  [[nodiscard]] std::map<std::string, FunctionStatistics> functions() const {
    const Timeline timeline((directory_.path() / "run.kymo").string());
    const SampleEnergy energy(timeline, {});
    FunctionOptions options;
    options.energy_of = [&energy](const StackSample& sample) { return energy.of(sample); };
    SampledFunctions found = gather_functions(timeline, options);
    energy.add_sampling_error(found);
    std::map<std::string, FunctionStatistics> rows;
    for (const FunctionStatistics& row : found.functions) {
      rows[row.name] = row;
    }
    return rows;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(FunctionEnergyTest, AFunctionHasThePowerOfTheTimeInWhichItWasFound) {
  const test::TruePower power{10, 0, 0, 1, 20, 10};  // 10 W for five seconds, then 30 W
  std::vector<StackSample> samples;
  for (std::int64_t at = 500 * ms; at < 9'500 * ms; at += ms) {
    samples.push_back({ThreadId{1}, at < 5 * second ? work : rest, 0, at});
    samples.push_back({ThreadId{2}, at < 5 * second ? work : rest, 1, at});
  }
  write(samples, &power);
  const auto rows = functions();
  EXPECT_NEAR(rows.at("work").self_energy.joules, 45, 0.5);
  EXPECT_NEAR(rows.at("rest").self_energy.joules, 135, 0.5);
  EXPECT_NEAR(rows.at("main").total_energy.joules, 180, 0.5);
  EXPECT_EQ(rows.at("main").self_energy.joules, 0);
}

TEST_F(FunctionEnergyTest, TheBoundHoldsTheTrueEnergyNineteenTimesInTwenty) {
  const test::TruePower power{20, 2, 10, 0.3, 15, 0.9};
  constexpr double share = 0.2;
  const double truth = share * power.between(100 * ms, 9'900 * ms);
  int held = 0;
  constexpr int runs = 60;
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    std::mt19937 random(seed);
    std::bernoulli_distribution is_work(share);
    std::vector<StackSample> samples;
    for (std::int64_t at = 100 * ms; at < 9'900 * ms; at += 10 * ms) {
      samples.push_back({ThreadId{1}, is_work(random) ? work : rest, 0, at});
    }
    write(samples, &power);
    const Energy energy = functions().at("work").self_energy;
    held += std::abs(energy.joules - truth) <= energy.bound_joules ? 1 : 0;
    EXPECT_LT(energy.bound_joules, 0.3 * truth) << "a bound that says something";
    std::filesystem::remove(directory_.path() / "run.kymo");
  }
  EXPECT_GE(held, runs * 9 / 10);
}

TEST_F(FunctionEnergyTest, WithoutPowerThereIsNone) {
  write({{ThreadId{1}, work, 0, second}}, nullptr);
  const Timeline timeline((directory_.path() / "run.kymo").string());
  EXPECT_FALSE(SampleEnergy(timeline, {}).has_source());
}

TEST_F(FunctionEnergyTest, TimesOfADamagedCaptureAreNoHarm) {
  const test::TruePower power{10};
  write({{ThreadId{1}, work, 0, INT64_MAX}, {ThreadId{9}, rest, 0, -5}, {ThreadId{1}, work, 0, 5 * second}}, &power);
  EXPECT_NEAR(functions().at("work").self_energy.joules, 1, 0.1) << "a stretch of 100 ms of 10 W";
}

}  // namespace
}  // namespace kymo::stats
