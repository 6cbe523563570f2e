// Power curves: energy between any two times, against power whose energy is known; and the choice of sources.
#include "stats/common/power_curve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/power/power_choice.hpp"
#include "power_recording.hpp"

namespace kymo::test {
namespace {

using base::PowerChoice;
using stats::Energy;
using stats::EnergyMethod;
using stats::PowerCurve;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

PowerCurve gauge_curve(const MetricSeries& series, MetricDeclaration metric = power_metric()) {
  return PowerCurve(EnergyMethod::trapezoid, metric, {series});
}

PowerCurve counter_curve(const MetricSeries& series, MetricDeclaration metric = energy_metric()) {
  return PowerCurve(EnergyMethod::counter, metric, {series});
}

MetricSeries series_of(std::int64_t step_ns, const std::vector<double>& values,
                       const std::vector<std::uint8_t>& flags = {}) {
  MetricSeries series;
  for (std::size_t i = 0; i < values.size(); ++i) {
    series.times_ns.push_back(static_cast<std::int64_t>(i) * step_ns);
    series.values.push_back(values[i]);
    series.flags.push_back(i < flags.size() ? flags[i] : std::uint8_t{0});
  }
  return series;
}

TEST(PowerCurve, OfConstantPowerIsExactFromBothKindsOfMetric) {
  const TruePower power{.constant = 42};
  for (const PowerCurve& curve : {gauge_curve(sample_power(power, {})), counter_curve(sample_energy(power, {}))}) {
    for (const std::int64_t start : {std::int64_t{0}, 3 * ms, 2 * second}) {
      const Energy energy = curve.between(start, start + 777 * ms);
      EXPECT_NEAR(energy.joules, 42 * 0.777, 1e-9);
      EXPECT_EQ(energy.unknown_s, 0);
    }
    EXPECT_EQ(curve.renewal_ns(), 10 * ms);
    EXPECT_EQ(curve.gap_count(), 0U);
  }
}

TEST(PowerCurve, OfARampIsWithinAThousandthAndExactFromAGauge) {
  const TruePower power{.constant = 5, .slope = 20};
  const PowerCurve gauge = gauge_curve(sample_power(power, {}));
  const PowerCurve counter = counter_curve(sample_energy(power, {}));
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const auto start = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(8 * second));
    const auto end = start + 100 * ms + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(second));
    const double truth = power.between(start, end);
    EXPECT_NEAR(gauge.between(start, end).joules, truth, 1e-9 * truth);
    EXPECT_NEAR(counter.between(start, end).joules, truth, 1e-3 * truth);
  }
}

TEST(PowerCurve, OfStepsIsWithinAThousandth) {
  const TruePower power{.constant = 10, .square = 90, .square_s = 2};
  const PowerCurve gauge = gauge_curve(sample_power(power, {.period_ns = ms}));
  const PowerCurve counter = counter_curve(sample_energy(power, {.period_ns = 10 * ms}));
  const double truth = power.between(0, 10 * second);
  EXPECT_NEAR(gauge.between(0, 10 * second).joules, truth, 1e-3 * truth);
  EXPECT_NEAR(counter.between(0, 10 * second).joules, truth, 1e-9 * truth);
}

TEST(PowerCurve, SkipsStaleSamplesSoThatEnergySpreadsBetweenRenewals) {
  const TruePower power{.constant = 100};
  const MetricSeries series = sample_energy(power, {.period_ns = ms, .renewal_ns = 100 * ms});
  const PowerCurve curve = counter_curve(series);
  EXPECT_EQ(curve.renewal_ns(), 100 * ms);
  EXPECT_NEAR(curve.between(1030 * ms, 1060 * ms).joules, 3.0, 1e-6) << "between two renewals power is constant";
  EXPECT_GE(curve.between(1030 * ms, 1060 * ms).bound_joules, 3.0) << "and all of it could have been elsewhere";
}

TEST(PowerCurve, CounterThatGoesBackStartsAnewAndIsAGap) {
  const PowerCurve curve = counter_curve(series_of(second, {0, 10, 20, 5, 15, 25}));
  EXPECT_EQ(curve.gap_count(), 1U);
  EXPECT_DOUBLE_EQ(curve.known_s(), 4);
  const Energy energy = curve.between(0, 5 * second);
  EXPECT_DOUBLE_EQ(energy.joules, 40);
  EXPECT_DOUBLE_EQ(energy.unknown_s, 1);
}

TEST(PowerCurve, UnreadableSamplesAndMissingOnesAreGapsNeverZeroes) {
  const PowerCurve unreadable = gauge_curve(series_of(second, {10, 10, missing, 10, 10}));
  EXPECT_DOUBLE_EQ(unreadable.between(0, 4 * second).joules, 20);
  EXPECT_DOUBLE_EQ(unreadable.between(0, 4 * second).unknown_s, 2);
  EXPECT_DOUBLE_EQ(unreadable.between(1500 * ms, 2500 * ms).unknown_s, 1);

  for (const bool is_counter : {false, true}) {
    MetricSeries series = is_counter ? series_of(second, {0, 10, 20, 30, 40, 50, 60, 70, 80, 90})
                                     : series_of(second, {10, 10, 10, 10, 10, 10, 10, 10, 10, 10});
    for (std::size_t i = 5; i < series.times_ns.size(); ++i) {
      series.times_ns[i] += 60 * second;
    }
    const PowerCurve curve = is_counter ? counter_curve(series) : gauge_curve(series);
    EXPECT_EQ(curve.gap_count(), 1U);
    EXPECT_DOUBLE_EQ(curve.between(0, 69 * second).joules, 80);
    EXPECT_DOUBLE_EQ(curve.between(0, 69 * second).unknown_s, 61);
  }
}

TEST(PowerCurve, OutsideOfItsSamplesNothingIsKnown) {
  const PowerCurve curve = gauge_curve(series_of(second, {10, 10, 10}));
  const Energy energy = curve.between(-second, 4 * second);
  EXPECT_DOUBLE_EQ(energy.joules, 20);
  EXPECT_DOUBLE_EQ(energy.unknown_s, 3);
  EXPECT_DOUBLE_EQ(curve.between(5 * second, 6 * second).unknown_s, 1);
  EXPECT_DOUBLE_EQ(PowerCurve().between(0, second).unknown_s, 1);
  EXPECT_EQ(curve.between(second, second).joules, 0);
  EXPECT_EQ(gauge_curve(series_of(second, {10})).between(0, second).unknown_s, 1);
}

TEST(PowerCurve, TakesAMeanPowerForTheMiddleOfItsWindow) {
  MetricDeclaration metric = power_metric();
  metric.window_ns = second;
  MetricSeries series = series_of(10 * ms, std::vector<double>(1000, 0));
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    series.values[i] = stats::seconds_between(0, series.times_ns[i]) - 0.5;  // of power that equals the time
    series.values[i] = std::max(series.values[i], 0.0);
  }
  const PowerCurve curve = gauge_curve(series, metric);
  EXPECT_NEAR(curve.between(2 * second, 4 * second).joules, 6, 1e-6);
}

TEST(PowerCurve, TakesTheSamplesOfSeveralProcessesOnceEach) {
  const TruePower power{.constant = 10};
  const PowerCurve curve(EnergyMethod::trapezoid, power_metric(),
                         {sample_power(power, {.start_ns = 3 * second, .end_ns = 9 * second}),
                          sample_power(power, {.start_ns = 0, .end_ns = 5 * second})});
  EXPECT_NEAR(curve.between(0, 9 * second).joules, 90, 0.2);
  EXPECT_LE(curve.between(0, 9 * second).unknown_s, 0.02);
}

TEST(PowerCurve, SurvivesAnyValuesAndTimes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    MetricSeries series;
    for (int i = 0; i < 50; ++i) {
      series.times_ns.push_back(static_cast<std::int64_t>(random()) >> (random() % 40));
      const std::uint64_t kind = random() % 4;
      series.values.push_back(kind == 0 ? missing : (kind == 1 ? 1e308 : static_cast<double>(random() % 1000)));
      series.flags.push_back(static_cast<std::uint8_t>(random() % 2));
    }
    std::sort(series.times_ns.begin(), series.times_ns.end());
    const PowerCurve curve = round % 2 == 0 ? gauge_curve(series) : counter_curve(series);
    for (int i = 0; i < 50; ++i) {
      (void)curve.between(static_cast<std::int64_t>(random()), static_cast<std::int64_t>(random()));
    }
  }
}

// The bound holds for whatever stretch is asked for, from a counter with renewals that are seen late, and from a gauge
// of power that is smooth or has steps.
TEST(PowerCurve, BoundContainsTheTruth) {
  std::mt19937_64 random(11);
  for (std::uint32_t round = 0; round < 60; ++round) {
    TruePower power{.constant = 30, .swing = 20, .swing_hz = 0.2 + 0.01 * static_cast<double>(random() % 100)};
    power.square = round % 2 == 0 ? 0 : 50;
    power.square_s = 0.7;
    const SamplingOptions how{.period_ns = 5 * ms,
                              .renewal_ns = round % 3 == 0 ? 0 : static_cast<std::int64_t>(1 + random() % 80) * ms,
                              .jitter_ns = 2 * ms,
                              .seed = round};
    const PowerCurve counter = counter_curve(sample_energy(power, how));
    const PowerCurve gauge = gauge_curve(sample_power(power, how));
    for (int i = 0; i < 300; ++i) {
      const auto start = second + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(7 * second));
      const auto end = start + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(second));
      const double truth = power.between(start, end);
      for (const PowerCurve* curve : {&counter, &gauge}) {
        const Energy energy = curve->between(start, end);
        EXPECT_LE(std::fabs(energy.joules - truth), energy.bound_joules + 1e-9)
            << "round " << round << " from " << start << " to " << end << " method "
            << static_cast<int>(curve->method());
      }
    }
    const Energy whole = counter.between(second, 9 * second);
    EXPECT_LE(whole.bound_joules, 0.1 * whole.joules) << "and says something";
  }
}

// A burst of power between two readings of a counter is in neither end of what it counts, so longer times have its
// bound; shorter ones have the power's.
TEST(PowerCurve, ACounterBesideThePowerNarrowsLongTimesAroundTheTruth) {
  std::mt19937_64 random(12);
  for (std::uint32_t round = 0; round < 60; ++round) {
    const TruePower power{.constant = 80, .square = 600, .square_s = 0.31 + 0.01 * static_cast<double>(random() % 40)};
    SamplingOptions how{.period_ns = 20 * ms, .renewal_ns = 100 * ms, .jitter_ns = 4 * ms, .seed = round};
    const PowerCurve alone = gauge_curve(sample_power(power, how));
    how.period_ns = second + static_cast<std::int64_t>(random() % 900) * ms;  // since a reading costs much
    PowerCurve both = alone;
    both.add_counter(counter_curve(sample_energy(power, how)));
    for (int i = 0; i < 300; ++i) {
      const auto start = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(9 * second));
      const auto end = start + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(10 * second - start));
      const Energy energy = both.between(start, end);
      const double readable =
          power.between(std::max(start, both.pieces().front().start_ns), std::min(end, both.pieces().back().end_ns));
      EXPECT_LE(std::fabs(energy.joules - readable), energy.bound_joules + 1e-9) << "round " << round << " " << start;
      EXPECT_LE(energy.bound_joules, alone.between(start, end).bound_joules);
    }
    EXPECT_LT(both.between(0, 10 * second).bound_joules, alone.between(0, 10 * second).bound_joules / 2);
    EXPECT_EQ(both.between(3 * second, 3 * second + 400 * ms).joules,
              alone.between(3 * second, 3 * second + 400 * ms).joules);
  }
}

TEST(PowerCurve, ACounterWithAGapSaysNothingOfTheTimeAroundIt) {
  const TruePower power{.constant = 80, .square = 600, .square_s = 0.5};
  const SamplingOptions how{.period_ns = 20 * ms, .renewal_ns = 100 * ms};
  const PowerCurve alone = gauge_curve(sample_power(power, how));
  MetricSeries counted = sample_energy(power, {.period_ns = second});
  counted.values[5] = missing;
  PowerCurve both = alone;
  both.add_counter(counter_curve(counted));
  EXPECT_EQ(both.between(0, 10 * second).bound_joules, alone.between(0, 10 * second).bound_joules);
  EXPECT_LT(both.between(0, 4500 * ms).bound_joules, alone.between(0, 4500 * ms).bound_joules);
}

std::vector<std::string> names_of(const PowerChoice& choice) {
  std::vector<std::string> names;
  for (const base::ChosenSource& source : choice.sources) {
    names.push_back(source.name + (source.side == base::PowerSide::gpu ? " (gpu)" : ""));
  }
  std::sort(names.begin(), names.end());
  return names;
}

MetricDeclaration total(MetricDeclaration metric) {
  metric.traits |= MetricDeclaration::total;
  return metric;
}

TEST(PowerChoice, OfRaplTakesPackagesAndDramAndNothingTwice) {
  std::vector<MetricDeclaration> metrics;
  for (const char* package : {"0", "1"}) {
    for (const char* domain : {"package", "core", "uncore", "dram"}) {
      metrics.push_back(energy_metric("cpu_energy", {{"package", package}, {"domain", domain}}));
      metrics.push_back(power_metric("cpu_power", {{"package", package}, {"domain", domain}}));
    }
  }
  metrics.push_back(total(energy_metric("cpu_energy", {{"package", ""}, {"domain", "psys"}})));
  const PowerChoice choice = base::choose_power_sources(metrics);
  const std::vector<std::string> expected{"cpu_energy package=0 domain=dram", "cpu_energy package=0 domain=package",
                                          "cpu_energy package=1 domain=dram", "cpu_energy package=1 domain=package"};
  EXPECT_EQ(names_of(choice), expected);
  EXPECT_EQ(choice.left_out.size(), 5U);
}

TEST(PowerChoice, OfRailsTakesTheTotalAloneOrAllOfThem) {
  std::vector<MetricDeclaration> metrics{total(power_metric("power", {{"rail", "VDD_IN"}})),
                                         power_metric("power", {{"rail", "VDD_CPU_GPU_CV"}}),
                                         power_metric("power", {{"rail", "VDD_SOC"}})};
  EXPECT_EQ(names_of(base::choose_power_sources(metrics)), std::vector<std::string>{"power rail=VDD_IN"});
  metrics[0] = power_metric("power", {{"rail", "VDD_GPU_SOC"}});
  EXPECT_EQ(
      names_of(base::choose_power_sources(metrics)),
      (std::vector<std::string>{"power rail=VDD_CPU_GPU_CV", "power rail=VDD_GPU_SOC (gpu)", "power rail=VDD_SOC"}));
}

TEST(PowerChoice, OfChipsThatCountEnergyTakesTheSocketsAlone) {
  const auto channel = [](const char* name) {
    return std::vector<std::pair<std::string, std::string>>{{"chip", "amd_energy"}, {"channel", name}};
  };
  const std::vector<MetricDeclaration> metrics{
      energy_metric("energy", channel("Ecore000")), energy_metric("energy", channel("Esocket0")),
      energy_metric("energy", channel("Esocket1")), power_metric("power", channel("power1"))};
  EXPECT_EQ(
      names_of(base::choose_power_sources(metrics)),
      (std::vector<std::string>{"energy chip=amd_energy channel=Esocket0", "energy chip=amd_energy channel=Esocket1"}));
}

TEST(PowerChoice, OfGpusTakesEachOnceByItsBestMetricAndKeepsThemApartFromTheMachine) {
  const std::vector<MetricDeclaration> metrics{power_metric("gpu_power", {{"gpu", "0"}, {"uuid", "a"}}),
                                               power_metric("gpu_power_average", {{"gpu", "0"}, {"uuid", "a"}}),
                                               energy_metric("gpu_energy", {{"gpu", "0"}, {"uuid", "a"}}),
                                               power_metric("gpu_power_average", {{"gpu", "1"}, {"uuid", "b"}}),
                                               power_metric("gpu_power", {{"gpu", "1"}, {"uuid", "b"}}),
                                               power_metric("power", {{"chip", "amdgpu"}, {"channel", "PPT"}}),
                                               power_metric("gpu_power_limit", {{"gpu", "0"}, {"uuid", "a"}}),
                                               power_metric("power", {{"chip", "power_meter"}, {"channel", "1"}})};
  EXPECT_EQ(names_of(base::choose_power_sources(metrics)),
            (std::vector<std::string>{"gpu_energy gpu=0 (gpu)", "gpu_power gpu=1 (gpu)",
                                      "power chip=power_meter channel=1"}));
}

TEST(PowerChoice, OfACounterThatIsReadRarelyTakesThePowerThatResolvesMore) {
  std::vector<MetricDeclaration> metrics{energy_metric("gpu_energy", {{"gpu", "0"}}),
                                         power_metric("gpu_power", {{"gpu", "0"}})};
  const auto chosen = [&](const std::vector<std::string>& names = {}) {
    return names_of(base::choose_power_sources(metrics, names));
  };
  const std::vector<std::string> counter{"gpu_energy gpu=0 (gpu)"};
  metrics[0].renewal_ns = second;
  metrics[1].renewal_ns = second / 2;
  EXPECT_EQ(chosen(), counter);
  metrics[1].renewal_ns = second / 10;
  EXPECT_EQ(chosen(), std::vector<std::string>{"gpu_power gpu=0 (gpu)"});
  EXPECT_EQ(base::choose_power_sources(metrics).sources.front().counters.size(), 1U) << "which longer times need";
  EXPECT_EQ(chosen({"gpu_energy"}), counter);
  metrics[1].window_ns = second;
  EXPECT_EQ(chosen(), counter) << "an average resolves no more than its window";
}

TEST(PowerChoice, OfTheUserIsWhatTheUserNames) {
  const std::vector<MetricDeclaration> metrics{energy_metric("cpu_energy", {{"package", "0"}, {"domain", "package"}}),
                                               energy_metric("cpu_energy", {{"package", "0"}, {"domain", "core"}}),
                                               power_metric("wall", {})};
  EXPECT_EQ(names_of(base::choose_power_sources(metrics, {"core"})),
            std::vector<std::string>{"cpu_energy package=0 domain=core"});
  EXPECT_EQ(names_of(base::choose_power_sources(metrics, {"wall"})), std::vector<std::string>{"wall"});
  EXPECT_TRUE(base::choose_power_sources(metrics, {"nothing"}).sources.empty());
}

}  // namespace
}  // namespace kymo::test
