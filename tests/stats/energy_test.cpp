// Joules of sites, spans, frames and phases, against power whose energy is known.
#include "stats/energy/energy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "power_recording.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

using stats::EnergyStatistics;
using stats::SiteEnergy;

std::map<std::string, SiteEnergy> by_name(const Timeline& timeline, const EnergyStatistics& statistics) {
  std::map<std::string, SiteEnergy> sites;
  for (const SiteEnergy& site : statistics.sites) {
    sites[timeline.site(site.site).name] = site;
  }
  return sites;
}

TEST(Energy, OfResolvedScopesIsWithinHalfAPercent) {
  // A thread that works in two kinds of steps while power ramps, swings and jumps.
  const TruePower power{.constant = 40, .slope = 3, .swing = 15, .swing_hz = 0.3, .square = 25, .square_s = 3};
  for (const bool is_counter : {true, false}) {
    PowerRecording recording;
    const SamplingOptions how{.end_ns = 20 * second, .period_ns = ms, .renewal_ns = is_counter ? 5 * ms : 0};
    if (is_counter) {
      recording.metric(energy_metric(), sample_energy(power, how));
    } else {
      recording.metric(power_metric("power", {{"rail", "VDD"}}), sample_power(power, how));
    }
    recording.open(second, 1, "run");
    for (std::int64_t i = 0; i < 40; ++i) {
      const std::int64_t start = second + i * 400 * ms;
      recording.scope(start, start + 230 * ms, 1, "long");
      recording.scope(start + 240 * ms, start + 390 * ms, 1, "short");
    }
    recording.close(18 * second, 1);
    const Timeline timeline = recording.make_timeline(7);
    const EnergyStatistics statistics = stats::gather_energy(timeline);
    const auto sites = by_name(timeline, statistics);
    const auto truth = recording.true_joules(power);
    ASSERT_EQ(sites.size(), 3U);
    for (const auto& [name, site] : sites) {
      const auto& expected = truth.at(name);
      EXPECT_NEAR(site.inclusive.joules, expected.inclusive, 0.005 * expected.inclusive) << name;
      EXPECT_NEAR(site.self.joules, expected.self, 0.005 * expected.self) << name;
      EXPECT_LE(std::fabs(site.inclusive.joules - expected.inclusive), site.inclusive.bound_joules + 1e-9) << name;
      EXPECT_EQ(site.inclusive.unknown_s, 0) << name;
      EXPECT_TRUE(site.is_resolved());
    }
    EXPECT_EQ(sites.at("long").count, 40U);
    EXPECT_NEAR(statistics.in_scopes_joules, power.between(second, 18 * second),
                0.005 * power.between(second, 18 * second));
    ASSERT_EQ(statistics.sources.size(), 1U);
    EXPECT_EQ(statistics.sources[0].method, is_counter ? stats::EnergyMethod::counter : stats::EnergyMethod::trapezoid);
    EXPECT_EQ(statistics.sources[0].gaps, 0U);
  }
}

TEST(Energy, OfARecursionCountsOnce) {
  const TruePower power{.constant = 10};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(power, {}));
  recording.open(second, 1, "descend");
  recording.open(2 * second, 1, "descend");
  recording.open(3 * second, 1, "leaf");
  recording.close(4 * second, 1);
  recording.close(5 * second, 1);
  recording.close(6 * second, 1);
  const Timeline timeline = recording.make_timeline();
  const auto sites = by_name(timeline, stats::gather_energy(timeline));
  EXPECT_EQ(sites.at("descend").count, 2U);
  EXPECT_NEAR(sites.at("descend").inclusive.joules, 50, 1e-6);
  EXPECT_NEAR(sites.at("descend").self.joules, 40, 1e-6);
  EXPECT_NEAR(sites.at("leaf").inclusive.joules, 10, 1e-6);
}

TEST(Energy, OfThreadsThatRunTogetherIsShared) {
  const TruePower power{.constant = 30};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(power, {}));
  recording.scope(second, 4 * second, 1, "a");
  recording.scope(2 * second, 3 * second, 2, "b");
  recording.scope(2 * second, 3 * second, 3, "b");
  const Timeline timeline = recording.make_timeline();
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  const auto sites = by_name(timeline, statistics);
  EXPECT_NEAR(sites.at("a").inclusive.joules, 70, 1e-6);
  EXPECT_NEAR(sites.at("b").inclusive.joules, 20, 1e-6);
  EXPECT_NEAR(statistics.in_scopes_joules, 90, 1e-6);
  EXPECT_NEAR(statistics.machine.joules, 300, 1e-6);
}

TEST(Energy, OfThreadsThatRunTogetherIsSharedByTheirCpuTime) {
  const TruePower power{.constant = 30};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(power, {}));
  // The first thread works all the time until 4 s, then a quarter; the second half of the time until 4 s, then all.
  const auto cpu_time = [&recording](TrackId thread, double before, double after) {
    MetricDeclaration metric;
    metric.name = "thread_cpu_time";
    metric.kind = MetricKind::counter;
    metric.unit = "s";
    metric.labels = {{"thread", std::to_string(thread)}};
    MetricSeries series;
    double seconds = 7;
    for (std::int64_t time_ns = 0; time_ns <= 10 * second; time_ns += 100 * ms) {
      series.times_ns.push_back(time_ns);
      series.values.push_back(seconds);
      seconds += time_ns < 4 * second ? before / 10 : after / 10;
    }
    recording.metric(metric, series);
  };
  cpu_time(1, 1.0, 0.25);
  cpu_time(2, 0.5, 1.0);
  recording.open(second, 1, "a");
  recording.scope(2 * second, 8 * second, 1, "inner");
  recording.close(9 * second, 1);
  recording.scope(2 * second, 7 * second, 2, "b");
  // Nothing was measured of the third: a whole core is taken for it.
  recording.scope(5 * second, 6 * second, 3, "c");
  const Timeline timeline = recording.make_timeline(3);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_TRUE(statistics.shares_by_cpu_time);
  const auto sites = by_name(timeline, statistics);
  const double a = 3 * 30 + 2 * 30 / 1.5 + 2 * 30 * 0.25 / 1.25 + 30 * 0.25 / 2.25;
  EXPECT_NEAR(sites.at("a").inclusive.joules, a, 0.01);
  EXPECT_NEAR(sites.at("a").self.joules, 2 * 30, 0.01);
  EXPECT_NEAR(sites.at("inner").inclusive.joules, a - 60, 0.01);
  EXPECT_NEAR(sites.at("b").inclusive.joules, 2 * 30 * 0.5 / 1.5 + 2 * 30 / 1.25 + 30 / 2.25, 0.01);
  EXPECT_NEAR(sites.at("c").inclusive.joules, 30 / 2.25, 0.01);
  EXPECT_NEAR(statistics.in_scopes_joules, 240, 1e-6);
}

TEST(Energy, OfScopesShorterThanTheRenewalIsUnresolvedButTheirSumHasABound) {
  const TruePower power{.constant = 50};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(power, {.period_ns = 10 * ms, .renewal_ns = 100 * ms}));
  for (std::int64_t i = 0; i < 1000; ++i) {
    recording.scope(second + i * 5 * ms, second + i * 5 * ms + 2 * ms, 1, "brief");
  }
  const Timeline timeline = recording.make_timeline(4);
  const auto sites = by_name(timeline, stats::gather_energy(timeline));
  const SiteEnergy& site = sites.at("brief");
  EXPECT_EQ(site.unresolved, 1000U);
  EXPECT_FALSE(site.is_resolved());
  EXPECT_NEAR(site.inclusive.joules, 100, 1e-3);
  EXPECT_GT(site.inclusive.bound_joules, 100) << "all of the power may have fallen into the scopes";
  EXPECT_LT(site.inclusive.bound_joules, 160);
}

TEST(Energy, CountsNothingTwiceWhereOneSourceContainsAnother) {
  const TruePower power{.constant = 20};
  const MetricSeries series = sample_energy(power, {});
  PowerRecording recording;
  for (const char* domain : {"package", "core", "uncore", "psys"}) {
    recording.metric(energy_metric("cpu_energy", {{"package", "0"}, {"domain", domain}}), series);
  }
  recording.metric(power_metric("cpu_power", {{"package", "0"}, {"domain", "package"}}), sample_power(power, {}));
  recording.scope(second, 2 * second, 1, "work");
  const Timeline timeline = recording.make_timeline();
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_EQ(statistics.sources.size(), 1U);
  EXPECT_EQ(statistics.left_out.size(), 3U);
  EXPECT_NEAR(by_name(timeline, statistics).at("work").inclusive.joules, 20, 1e-6);
}

TEST(Energy, OfGpusGoesToGpuSpansFramesAndPhases) {
  const TruePower cpu{.constant = 10};
  const TruePower gpu{.constant = 100};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(cpu, {}));
  recording.metric(power_metric(), sample_power(gpu, {}));
  recording.scope(second, 5 * second, 1, "work");
  recording.gpu_span(second, 3 * second, "kernel");
  recording.gpu_span(2 * second, 3 * second, "copy");
  for (std::int64_t i = 1; i <= 5; ++i) {
    recording.frame_mark(i * second);
  }
  recording.sync_point(second);
  recording.sync_point(3 * second);
  const Timeline timeline = recording.make_timeline(3);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_NEAR(by_name(timeline, statistics).at("work").inclusive.joules, 40, 1e-6) << "none of the GPU's power";
  ASSERT_EQ(statistics.spans.size(), 2U);
  EXPECT_EQ(timeline.name(statistics.spans[0].name), "kernel");
  EXPECT_NEAR(statistics.spans[0].energy.joules, 150, 1e-6);
  EXPECT_NEAR(statistics.spans[1].energy.joules, 50, 1e-6);
  ASSERT_EQ(statistics.frame_streams.size(), 1U);
  EXPECT_EQ(statistics.frame_streams[0].count, 4U);
  EXPECT_NEAR(statistics.frame_streams[0].machine.joules, 40, 1e-6);
  EXPECT_NEAR(statistics.frame_streams[0].gpu.joules, 400, 1e-6);
  EXPECT_TRUE(statistics.frame_streams[0].is_resolved());
  ASSERT_EQ(statistics.phases.size(), 2U);
  EXPECT_EQ(statistics.phases[0].phase.number, 1U);
  EXPECT_NEAR(statistics.phases[0].machine.joules, 20, 1e-6);
  EXPECT_NEAR(statistics.phases[0].gpu.joules, 200, 1e-6);
}

TEST(Energy, OfGpusGoesNowhereWhereTheTimesOfASpanAreNotKnown) {
  PowerRecording recording;
  recording.metric(power_metric(), sample_power({.constant = 100}, {}));
  recording.gpu_span(second, 3 * second, "kernel");
  recording.gpu_span(2 * second, 2 * second, "copy (unresolved)");
  const Timeline timeline = recording.make_timeline(3);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  ASSERT_EQ(statistics.spans.size(), 1U);
  EXPECT_EQ(statistics.spans[0].unresolved, 0U);
  EXPECT_NEAR(statistics.spans[0].energy.joules, 200, 1e-6);
}

TEST(Energy, SaysHowMuchOfItAnIdleMachineWouldHaveUsed) {
  // Two idle seconds of 10 W, then 40 W.
  MetricSeries series;
  for (std::int64_t i = 0; i <= 1000; ++i) {
    series.times_ns.push_back(i * 10 * ms);
    series.values.push_back(i <= 200 ? 0.1 * static_cast<double>(i) : 20 + 0.4 * static_cast<double>(i - 200));
    series.flags.push_back(0);
  }
  PowerRecording recording;
  recording.metric(energy_metric(), series);
  recording.scope(3 * second, 5 * second, 1, "work");
  const Timeline timeline = recording.make_timeline();
  EnergyStatistics statistics = stats::gather_energy(timeline);
  ASSERT_TRUE(statistics.idle_watts.has_value());
  EXPECT_NEAR(*statistics.idle_watts, 10, 1e-6);
  EXPECT_NEAR(statistics.idle_joules, 100, 1e-4);
  EXPECT_NEAR(statistics.sites.at(0).inclusive.joules, 80, 1e-6);
  EXPECT_NEAR(statistics.sites.at(0).idle_joules, 20, 1e-6);
  stats::EnergyOptions options;
  options.idle_watts = 5;
  statistics = stats::gather_energy(timeline, options);
  EXPECT_TRUE(statistics.is_idle_given);
  EXPECT_NEAR(statistics.sites.at(0).idle_joules, 10, 1e-6);
}

TEST(Energy, OfStretchesWithoutReadingsIsSaidToBeUnknown) {
  const TruePower power{.constant = 10};
  MetricSeries series = sample_energy(power, {});
  for (std::size_t i = 200; i < 300; ++i) {
    series.values[i] = std::nan("");
  }
  PowerRecording recording;
  recording.metric(energy_metric(), series);
  recording.scope(second, 4 * second, 1, "work");
  const Timeline timeline = recording.make_timeline();
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_EQ(statistics.sources.at(0).gaps, 1U);
  EXPECT_NEAR(statistics.sites.at(0).inclusive.unknown_s, 1.01, 1e-6);
  EXPECT_NEAR(statistics.sites.at(0).inclusive.joules, 19.9, 1e-6);
}

TEST(Energy, WithoutAPowerSourceIsNothing) {
  PowerRecording recording;
  recording.scope(second, 4 * second, 1, "work");
  const Timeline timeline = recording.make_timeline();
  EXPECT_TRUE(stats::gather_energy(timeline).sources.empty());
}

TEST(Energy, OfADamagedBlockCostsOnlyWhatIsInIt) {
  const TruePower power{.constant = 10};
  PowerRecording recording;
  recording.open(second, 1, "work");
  for (std::int64_t i = 1; i < 9; ++i) {
    recording.scope(i * second + 200 * ms, i * second + 400 * ms, 1, "part");
  }
  recording.close(9 * second, 1);
  recording.metric(energy_metric(), sample_energy(power, {.period_ns = second}));
  // Blocks of 2 s each.
  const auto with_damage = [&](std::size_t damaged) {
    std::vector<std::byte> bytes = recording.make_capture(5, 0);
    const CaptureReader reader(bytes.data(), bytes.size(), "memory");
    std::size_t number = 0;
    for (const BlockInfo& block : reader.blocks()) {
      if (block.kind == BlockKind::events && number++ == damaged) {
        bytes[block.offset + 48] ^= std::byte{1};
        break;
      }
    }
    return bytes;
  };
  const auto sites_of = [](const std::vector<std::byte>& bytes) {
    std::vector<CaptureReader> readers;
    readers.emplace_back(bytes.data(), bytes.size(), "memory");
    const Timeline timeline(std::move(readers));
    return by_name(timeline, stats::gather_energy(timeline));
  };
  auto sites = sites_of(with_damage(2));
  EXPECT_EQ(sites.at("part").count, 6U);
  EXPECT_NEAR(sites.at("part").inclusive.joules, 12, 1e-6);
  EXPECT_EQ(sites.at("work").count, 1U);
  EXPECT_NEAR(sites.at("work").inclusive.joules, 80, 1e-6) << "it was open all the time, and the counter went on";
  sites = sites_of(with_damage(0));
  EXPECT_EQ(sites.at("part").count, 7U);
  EXPECT_EQ(sites.at("work").count, 1U);
  EXPECT_NEAR(sites.at("work").inclusive.joules, 68, 1e-6) << "from where it was seen first";
}

// Scopes of several threads at random, of all lengths, in blocks that overlap; power that nobody sampled but through a
// counter that renews itself now and then, or a gauge.
TEST(Energy, BoundContainsTheTruthWhateverRuns) {
  // Every sixth has the same kind of source and of load.
  constexpr std::uint32_t seeds = std::max(test::rounds(24U), 6U);
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(seed);
    TruePower power{.constant = 30, .swing = 25, .swing_hz = 0.2 + 0.01 * static_cast<double>(random() % 100)};
    power.square = seed % 2 == 0 ? 60 : 0;
    power.square_s = 0.37;
    const bool is_counter = seed % 3 != 0;
    const SamplingOptions how{.end_ns = 6 * second,
                              .period_ns = static_cast<std::int64_t>(1 + random() % 10) * ms,
                              .renewal_ns = is_counter ? static_cast<std::int64_t>(1 + random() % 200) * ms : 0,
                              .jitter_ns = ms / 2,
                              .seed = seed};
    PowerRecording recording;
    recording.metric(is_counter ? energy_metric() : power_metric("power", {{"rail", "all"}}),
                     is_counter ? sample_energy(power, how) : sample_power(power, how));
    for (TrackId thread = 1; thread <= 3; ++thread) {
      std::int64_t now = second;
      std::size_t depth = 0;
      const std::int64_t pace = ms << (random() % 7);
      while (now < 5 * second) {
        if (depth < 5 && (depth == 0 || random() % 2 == 0)) {
          recording.open(now, thread, "site " + std::to_string(random() % 6));
          ++depth;
        } else {
          recording.close(now, thread);
          --depth;
        }
        now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(pace));
      }
      for (; depth > 0; --depth) {
        recording.close(now, thread);
      }
    }
    const auto truth = recording.true_joules(power);
    const Timeline timeline = recording.make_timeline(1 + seed % 9, seed);
    const auto sites = by_name(timeline, stats::gather_energy(timeline));
    ASSERT_EQ(sites.size(), truth.size());
    double self = 0;
    double true_self = 0;
    for (const auto& [name, expected] : truth) {
      const SiteEnergy& site = sites.at(name);
      EXPECT_LE(std::fabs(site.inclusive.joules - expected.inclusive), site.inclusive.bound_joules + 1e-9)
          << name << " seed " << seed;
      EXPECT_LE(std::fabs(site.self.joules - expected.self), site.self.bound_joules + 1e-9) << name << " seed " << seed;
      self += site.self.joules;
      true_self += expected.self;
    }
    EXPECT_NEAR(self, true_self, 0.05 * true_self) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kymo::test
