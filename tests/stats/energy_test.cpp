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

/// CPU time of a thread at some times.
void cpu_time(PowerRecording& recording, TrackId thread, const MetricSeries& series) {
  MetricDeclaration metric;
  metric.name = "thread_cpu_time";
  metric.kind = MetricKind::counter;
  metric.unit = "s";
  metric.labels = {{"thread", std::to_string(thread.value())}};
  recording.metric(metric, series);
}

/// The same of a thread that has a load from `start_ns` on, sampled ten times a second from `first_ns` on.
void steady_cpu_time(PowerRecording& recording, TrackId thread, double load, std::int64_t start_ns,
                     std::int64_t first_ns, std::int64_t end_ns) {
  MetricSeries series;
  for (std::int64_t time_ns = first_ns; time_ns <= end_ns; time_ns += 100 * ms) {
    series.times_ns.push_back(time_ns);
    series.values.push_back(load * static_cast<double>(time_ns - start_ns) / 1e9);
  }
  cpu_time(recording, thread, series);
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
    recording.open(second, TrackId{1}, "run");
    for (std::int64_t i = 0; i < 40; ++i) {
      const std::int64_t start = second + i * 400 * ms;
      recording.scope(start, start + 230 * ms, TrackId{1}, "long");
      recording.scope(start + 240 * ms, start + 390 * ms, TrackId{1}, "short");
    }
    recording.close(18 * second, TrackId{1});
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
  recording.open(second, TrackId{1}, "descend");
  recording.open(2 * second, TrackId{1}, "descend");
  recording.open(3 * second, TrackId{1}, "leaf");
  recording.close(4 * second, TrackId{1});
  recording.close(5 * second, TrackId{1});
  recording.close(6 * second, TrackId{1});
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
  recording.scope(second, 4 * second, TrackId{1}, "a");
  recording.scope(2 * second, 3 * second, TrackId{2}, "b");
  recording.scope(2 * second, 3 * second, TrackId{3}, "b");
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
  const auto two_loads = [&recording](TrackId thread, double before, double after) {
    MetricSeries series;
    double seconds = 7;
    for (std::int64_t time_ns = 0; time_ns <= 10 * second; time_ns += 100 * ms) {
      series.times_ns.push_back(time_ns);
      series.values.push_back(seconds);
      seconds += time_ns < 4 * second ? before / 10 : after / 10;
    }
    cpu_time(recording, thread, series);
  };
  two_loads(TrackId{1}, 1.0, 0.25);
  two_loads(TrackId{2}, 0.5, 1.0);
  recording.open(second, TrackId{1}, "a");
  recording.scope(2 * second, 8 * second, TrackId{1}, "inner");
  recording.close(9 * second, TrackId{1});
  recording.scope(2 * second, 7 * second, TrackId{2}, "b");
  // Nothing was measured of the third: a whole core is taken for it.
  recording.scope(5 * second, 6 * second, TrackId{3}, "c");
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

TEST(Energy, IsSharedByRunStatesWhereTheyAreKnownAndBySamplesElsewhere) {
  const TruePower power{.constant = 30};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(power, {}));
  // By samples both threads work half of the time. In truth they take turns, from scope to scope, until 6 s.
  steady_cpu_time(recording, TrackId{1}, 0.5, 0, 0, 10 * second);
  steady_cpu_time(recording, TrackId{2}, 0.5, 0, 0, 10 * second);
  std::mt19937 random(7);
  std::int64_t now_ns = second;
  double a_s = 0;
  double b_s = 0;
  for (bool is_first = true; now_ns < 6 * second; is_first = !is_first) {
    const std::int64_t end_ns =
        std::min(now_ns + 1'000'000 + static_cast<std::int64_t>(random() % 50'000'000), 6 * second);
    const RunState others = random() % 2 == 0 ? RunState::blocked : RunState::runnable;
    recording.state(now_ns, end_ns, TrackId{1}, is_first ? RunState::running : others);
    recording.state(now_ns, end_ns, TrackId{2}, is_first ? others : RunState::running);
    recording.scope(now_ns, end_ns, TrackId{1}, is_first ? "a runs" : "a waits");
    recording.scope(now_ns, end_ns, TrackId{2}, is_first ? "b waits" : "b runs");
    (is_first ? a_s : b_s) += static_cast<double>(end_ns - now_ns) / 1e9;
    now_ns = end_ns;
  }
  recording.scope(7 * second, 9 * second, TrackId{1}, "a later");
  recording.scope(7 * second, 9 * second, TrackId{2}, "b later");
  const Timeline timeline = recording.make_timeline(20);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_TRUE(statistics.shares_by_cpu_time);
  const auto sites = by_name(timeline, statistics);
  // One who waits keeps a thousandth of what one who runs has.
  EXPECT_NEAR(sites.at("a runs").inclusive.joules, 30 * a_s * 1000 / 1001, 1e-3);
  EXPECT_NEAR(sites.at("b waits").inclusive.joules, 30 * a_s / 1001, 1e-3);
  EXPECT_NEAR(sites.at("b runs").inclusive.joules, 30 * b_s * 1000 / 1001, 1e-3);
  EXPECT_NEAR(sites.at("a later").inclusive.joules, 30, 0.01);
  EXPECT_NEAR(sites.at("b later").inclusive.joules, 30, 0.01);
}

TEST(Energy, OfAThreadThatSleptIsNothingFromItsBirthOn) {
  // Both threads are born at 1 s; the sampler finds them a second later. 10 W for 8 s, of which one thread has all.
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy({.constant = 10}, {}));
  steady_cpu_time(recording, TrackId{1}, 1.0, second, 2 * second, 9 * second);
  steady_cpu_time(recording, TrackId{2}, 0.0001, second, 2 * second, 9 * second);
  recording.scope(second, 9 * second, TrackId{1}, "work");
  recording.scope(second, 9 * second, TrackId{2}, "sleep");
  const Timeline timeline = recording.make_timeline(5);
  const auto sites = by_name(timeline, stats::gather_energy(timeline));
  EXPECT_LT(sites.at("sleep").inclusive.joules, 0.1);
  EXPECT_LE(sites.at("sleep").inclusive.joules, sites.at("sleep").inclusive.bound_joules);
  EXPECT_NEAR(sites.at("sleep").inclusive.joules + sites.at("work").inclusive.joules, 80, 1e-6);
  EXPECT_LE(std::fabs(sites.at("work").inclusive.joules - 80), sites.at("work").inclusive.bound_joules);
  // Nobody knows whether the first thread is older than its scope and used its CPU time before: in the first second
  // and next to the samples at the ends, the other may have run.
  EXPECT_LT(sites.at("sleep").inclusive.bound_joules, 13);
}

// Threads that run and wait at random in milliseconds; CPU time is sampled every 100 of them, and the counter renews
// itself every 10. By hand: each millisecond belongs to the running threads with open scopes, or to all that wait.
TEST(Energy, BoundCoversWhatIsNotKnownOfTheThreadsCpuTime) {
  constexpr std::size_t threads = 3;
  constexpr std::int64_t length = 3000;
  for (std::uint32_t seed = 1; seed <= test::rounds(8U); ++seed) {
    std::mt19937_64 random(seed);
    PowerRecording recording;
    std::vector<std::vector<bool>> runs(threads, std::vector<bool>(length));
    std::vector<std::vector<bool>> is_open = runs;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      const std::uint64_t pace = 1 + random() % 60;
      const std::uint64_t idleness = 1 + random() % 8;
      MetricSeries series;
      double used_s = 0;
      for (std::int64_t now = 0, change = 0; now < length; ++now) {
        if (now % 100 == 0) {
          series.times_ns.push_back(now * ms);
          series.values.push_back(used_s);
        }
        bool is_running = now > 0 && runs[thread][static_cast<std::size_t>(now - 1)];
        if (now == change) {
          is_running = !is_running;
          change += static_cast<std::int64_t>(1 + random() % (is_running ? pace : pace * idleness));
        }
        runs[thread][static_cast<std::size_t>(now)] = is_running;
        used_s += is_running ? 0.001 : 0;
      }
      cpu_time(recording, TrackId::from_index(thread), series);
      for (std::int64_t now = 0; now + 400 < length;) {
        const auto start = now + static_cast<std::int64_t>(random() % 100);
        const auto end = start + static_cast<std::int64_t>(1 + random() % 300);
        recording.scope(start * ms, end * ms, TrackId::from_index(thread), "site " + std::to_string(thread));
        std::fill(is_open[thread].begin() + start, is_open[thread].begin() + end, true);
        now = end;
      }
    }
    MetricSeries counter;
    std::vector<double> joules(threads);
    double sum = 0;
    double watts = 0;
    for (std::int64_t now = 0; now <= length; ++now) {
      if (now % 10 == 0) {
        counter.times_ns.push_back(now * ms);
        counter.values.push_back(sum);
        watts = 5 + static_cast<double>(random() % 60);
      }
      sum += watts / 1000;
      double running = 0;
      double open = 0;
      for (std::size_t thread = 0; thread < threads && now < length; ++thread) {
        const auto at = static_cast<std::size_t>(now);
        open += is_open[thread][at] ? 1 : 0;
        running += is_open[thread][at] && runs[thread][at] ? 1 : 0;
      }
      for (std::size_t thread = 0; thread < threads && now < length; ++thread) {
        const auto at = static_cast<std::size_t>(now);
        if (is_open[thread][at] && (running == 0 || runs[thread][at])) {
          joules[thread] += watts / 1000 / (running == 0 ? open : running);
        }
      }
    }
    recording.metric(energy_metric(), counter);
    const Timeline timeline = recording.make_timeline(4, seed);
    for (const auto& [name, site] : by_name(timeline, stats::gather_energy(timeline))) {
      const double truth = joules[static_cast<std::size_t>(name.back() - '0')];
      EXPECT_LE(std::fabs(site.inclusive.joules - truth), site.inclusive.bound_joules + 1e-9)
          << name << " seed " << seed;
    }
  }
}

TEST(Energy, OfScopesShorterThanTheRenewalIsUnresolvedButTheirSumHasABound) {
  const TruePower power{.constant = 50};
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(power, {.period_ns = 10 * ms, .renewal_ns = 100 * ms}));
  for (std::int64_t i = 0; i < 1000; ++i) {
    recording.scope(second + i * 5 * ms, second + i * 5 * ms + 2 * ms, TrackId{1}, "brief");
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
  recording.scope(second, 2 * second, TrackId{1}, "work");
  const Timeline timeline = recording.make_timeline();
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_EQ(statistics.sources.size(), 1U);
  EXPECT_EQ(statistics.left_out.size(), 3U);
  EXPECT_NEAR(by_name(timeline, statistics).at("work").inclusive.joules, 20, 1e-6);
}

TEST(Energy, OfAMachineThatNothingMeasuresIsMissingAndNotZero) {
  PowerRecording recording;
  recording.metric(power_metric(), sample_power({.constant = 100}, {}));
  recording.scope(second, 5 * second, TrackId{1}, "work");
  recording.gpu_span(second, 3 * second, "kernel");
  recording.frame_mark(second);
  recording.frame_mark(2 * second);
  recording.sync_point(second);
  const Timeline timeline = recording.make_timeline(3);
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_FALSE(statistics.machine.is_known());
  EXPECT_FALSE(by_name(timeline, statistics).at("work").inclusive.is_known());
  EXPECT_FALSE(by_name(timeline, statistics).at("work").self.is_known());
  EXPECT_FALSE(statistics.frame_streams.at(0).machine.is_known());
  EXPECT_FALSE(statistics.phases.at(0).machine.is_known());
  EXPECT_FALSE(statistics.idle_watts.has_value());
  EXPECT_NEAR(statistics.spans.at(0).energy.joules, 200, 1e-6);
  EXPECT_NEAR(statistics.frame_streams.at(0).gpu.joules, 100, 1e-6);
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
  recording.scope(3 * second, 5 * second, TrackId{1}, "work");
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

  // A counter that never moves beside it says nothing, and spoils nothing.
  MetricSeries stuck = series;
  std::fill(stuck.values.begin(), stuck.values.end(), 5000.0);
  for (const std::uint8_t flag : {std::uint8_t{0}, SampleRun::stale}) {
    std::fill(stuck.flags.begin() + 1, stuck.flags.end(), flag);
    PowerRecording with_stuck = recording;
    with_stuck.metric(energy_metric("cpu_energy", {{"package", "1"}, {"domain", "package"}}), stuck);
    const Timeline both = with_stuck.make_timeline();
    statistics = stats::gather_energy(both);
    ASSERT_EQ(statistics.sources.size(), 2U);
    ASSERT_TRUE(statistics.idle_watts.has_value());
    EXPECT_NEAR(*statistics.idle_watts, 10, 1e-6);
    EXPECT_NEAR(statistics.idle_joules, 100, 1e-4);
    EXPECT_NEAR(statistics.sites.at(0).idle_joules, 20, 1e-6);
    EXPECT_EQ(statistics.sites.at(0).inclusive.unknown_s, 0);
  }
}

TEST(Energy, OfStretchesWithoutReadingsIsSaidToBeUnknown) {
  const TruePower power{.constant = 10};
  MetricSeries series = sample_energy(power, {});
  for (std::size_t i = 200; i < 300; ++i) {
    series.values[i] = std::nan("");
  }
  PowerRecording recording;
  recording.metric(energy_metric(), series);
  recording.scope(second, 4 * second, TrackId{1}, "work");
  const Timeline timeline = recording.make_timeline();
  const EnergyStatistics statistics = stats::gather_energy(timeline);
  EXPECT_EQ(statistics.sources.at(0).gaps, 1U);
  EXPECT_NEAR(statistics.sites.at(0).inclusive.unknown_s, 1.01, 1e-6);
  EXPECT_NEAR(statistics.sites.at(0).inclusive.joules, 19.9, 1e-6);
}

TEST(Energy, IsNeverUnknownForLongerThanTheScopesLasted) {
  // Nothing is read from 2 s to 8 s. Two threads share power by their CPU time; each has scopes in the gap.
  MetricSeries series = sample_energy({.constant = 10}, {});
  for (std::size_t i = 201; i < 800; ++i) {
    series.values[i] = std::nan("");
  }
  PowerRecording recording;
  recording.metric(energy_metric(), series);
  steady_cpu_time(recording, TrackId{1}, 0.5, 0, 0, 10 * second);
  steady_cpu_time(recording, TrackId{2}, 1.0, 0, 0, 10 * second);
  for (const std::int64_t start_s : {3, 4, 5}) {
    recording.scope(start_s * second, (start_s + 1) * second, TrackId{1}, "in the gap");
  }
  recording.scope(second, 9 * second, TrackId{2}, "across");
  const Timeline timeline = recording.make_timeline();
  const auto sites = by_name(timeline, stats::gather_energy(timeline));
  EXPECT_NEAR(sites.at("in the gap").inclusive.unknown_s, 3, 1e-6);
  EXPECT_NEAR(sites.at("in the gap").self.unknown_s, 3, 1e-6);
  EXPECT_FALSE(sites.at("in the gap").inclusive.is_known());
  EXPECT_NEAR(sites.at("across").inclusive.unknown_s, 6, 1e-6);
  EXPECT_NEAR(sites.at("across").inclusive.joules, 20, 1e-6);
}

TEST(Energy, WithoutAPowerSourceIsNothing) {
  PowerRecording recording;
  recording.scope(second, 4 * second, TrackId{1}, "work");
  const Timeline timeline = recording.make_timeline();
  EXPECT_TRUE(stats::gather_energy(timeline).sources.empty());
}

TEST(Energy, OfADamagedBlockCostsOnlyWhatIsInIt) {
  const TruePower power{.constant = 10};
  PowerRecording recording;
  recording.open(second, TrackId{1}, "work");
  for (std::int64_t i = 1; i < 9; ++i) {
    recording.scope(i * second + 200 * ms, i * second + 400 * ms, TrackId{1}, "part");
  }
  recording.close(9 * second, TrackId{1});
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
    for (const TrackId thread : {TrackId{1}, TrackId{2}, TrackId{3}}) {
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

TEST(Energy, OfFramesIsWithoutWhatIsBetweenLostEvents) {
  PowerRecording recording;
  recording.metric(energy_metric(), sample_energy(TruePower{.constant = 10}, {}));
  recording.scope(second, 9 * second, TrackId{1}, "work");
  for (const std::int64_t mark : {1, 2, 3, 7, 8}) {
    recording.frame_mark(mark * second);
  }
  recording.frame_break(5 * second);
  const EnergyStatistics statistics = stats::gather_energy(recording.make_timeline(3));
  ASSERT_EQ(statistics.frame_streams.size(), 1U);
  EXPECT_EQ(statistics.frame_streams[0].count, 3U);
  EXPECT_NEAR(statistics.frame_streams[0].machine.joules, 30, 1e-6);
}

}  // namespace
}  // namespace kymo::test
