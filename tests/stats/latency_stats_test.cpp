// Exact percentiles and spread, and those of frames.
#include <kymo/latency_stats.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <kymo/frame_stats.hpp>

#include "power_recording.hpp"

namespace kymo::test {
namespace {

TEST(LatencyStats, AreAllZeroForNoSamples) {
  for (const LatencyStats& stats :
       {LatencyStats::of({}), FrameStats().stats_ms(), LatencyStats::of({std::numeric_limits<double>::quiet_NaN()})}) {
    EXPECT_EQ(stats.n, 0U);
    for (const double value : {stats.p50, stats.p95, stats.p99, stats.mean, stats.std}) {
      EXPECT_EQ(value, 0);
    }
  }
}

TEST(LatencyStats, ArePercentilesByNearestRankAndPopulationDeviation) {
  const LatencyStats stats = LatencyStats::of({5, 1, 4, 2, 3});
  EXPECT_EQ(stats.n, 5U);
  EXPECT_EQ(stats.p50, 3);
  EXPECT_EQ(stats.p95, 5);
  EXPECT_EQ(stats.p99, 5);
  EXPECT_EQ(stats.mean, 3);
  EXPECT_DOUBLE_EQ(stats.std, std::sqrt(2.0));
  const std::vector<double> four{1, 2, 3, 4};
  EXPECT_EQ(nearest_rank(four, 50), 2) << "the lower of the middle two";
  EXPECT_EQ(nearest_rank(four, 75), 3);
  EXPECT_EQ(nearest_rank(four, 75.1), 4);
  EXPECT_EQ(nearest_rank(four, -1), 1);
  EXPECT_EQ(nearest_rank(four, 200), 4);
  EXPECT_EQ(LatencyStats::of({7}).std, 0);
}

TEST(LatencyStats, OfSamplesFarFromZeroKeepTheirSpread) {
  std::vector<double> samples;
  for (int i = 0; i < 1000; ++i) {
    samples.push_back(1e9 + (i % 2));
  }
  EXPECT_NEAR(LatencyStats::of(samples).std, 0.5, 1e-9);
}

/// Durations of the kinds that percentiles must be right for.
std::vector<std::int64_t> make_durations(int kind, std::size_t count) {
  std::mt19937_64 random(static_cast<unsigned>(kind) + 1);
  std::lognormal_distribution<double> lognormal(std::log(50'000.0), 1.2);
  std::normal_distribution<double> fast(2e6, 1e5);
  std::normal_distribution<double> slow(9e7, 4e6);
  std::uniform_int_distribution<std::int64_t> uniform(1, 40'000'000);
  const std::vector<std::function<double()>> kinds{
      [&] { return static_cast<double>(uniform(random)); }, [&] { return lognormal(random); },
      [&] { return random() % 10 < 7 ? fast(random) : slow(random); }, [] { return 16'666'667.0; }};
  std::vector<std::int64_t> durations(count);
  std::generate(durations.begin(), durations.end(),
                [&] { return static_cast<std::int64_t>(kinds[static_cast<std::size_t>(kind)]()); });
  return durations;
}

TEST(FrameStats, PercentilesAreWithinATenthOfAPercentWhateverTheDistributionAndTheWayItWasSplit) {
  for (int kind = 0; kind < 4; ++kind) {
    const std::vector<std::int64_t> durations = make_durations(kind, 200'000);
    std::vector<FrameStats> parts(7);
    FrameStats whole;
    for (std::size_t i = 0; i < durations.size(); ++i) {
      whole.add(durations[i]);
      parts[i % 7].add(durations[i]);
    }
    FrameStats merged;
    for (const FrameStats& part : parts) {
      merged.merge(part);
    }
    std::vector<double> exact(durations.begin(), durations.end());
    const LatencyStats expected = LatencyStats::of(exact);
    std::sort(exact.begin(), exact.end());
    for (const double percentile : {0.1, 1.0, 25.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0}) {
      const double at = nearest_rank(exact, percentile);
      EXPECT_NEAR(static_cast<double>(whole.percentile_ns(percentile)), at, at / 1000) << kind << " " << percentile;
      EXPECT_EQ(whole.percentile_ns(percentile), merged.percentile_ns(percentile));
    }
    for (const FrameStats* const stats : {&whole, &merged}) {
      EXPECT_EQ(stats->stats_ms().n, durations.size());
      EXPECT_NEAR(stats->stats_ms().mean, expected.mean / 1e6, expected.mean / 1e6 * 1e-12);
      EXPECT_NEAR(stats->stats_ms().std, expected.std / 1e6, expected.std / 1e6 * 1e-9);
      EXPECT_EQ(stats->min_ns(), static_cast<std::int64_t>(exact.front()));
      EXPECT_EQ(stats->max_ns(), static_cast<std::int64_t>(exact.back()));
    }
  }
}

TEST(FrameStats, OfACaptureAreThoseOfItsFrames) {
  PowerRecording recording;
  for (const std::int64_t mark : {10, 20, 40, 70, 110}) {
    recording.frame_mark(mark * ms);
  }
  const Timeline timeline = recording.make_timeline(2);
  const FrameStats frames = FrameStats::of(timeline, FrameStreamId{1});
  EXPECT_EQ(frames.count(), 4U);
  EXPECT_EQ(frames.min_ns(), 10 * ms);
  EXPECT_EQ(frames.max_ns(), 40 * ms);
  EXPECT_DOUBLE_EQ(frames.stats_ms().mean, 25);
  EXPECT_EQ(FrameStats::of(timeline, FrameStreamId{1}, {45 * ms, 60 * ms}).count(), 1U);
}

}  // namespace
}  // namespace kymo::test
