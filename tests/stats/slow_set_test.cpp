// Slow sets: what stands apart by more than chance, and that chance makes none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/common/random_source.hpp"
#include "stats/paths/instances.hpp"

namespace kymo::stats {
namespace {

/// Durations around 10 ms whose logarithms have this deviation.
Instances noisy(std::size_t count, double deviation, std::uint64_t seed) {
  RandomSource random(seed);
  Instances instances;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t start_ns = instances.all.empty() ? 0 : instances.all.back().end_ns();
    instances.all.push_back(
        {start_ns, static_cast<std::int64_t>(1e7 * std::exp(deviation * random.normal())), TrackId{1}, i + 1});
  }
  return instances;
}

TEST(SlowSet, ChanceMakesOneInAtMostOneOfTwentySets) {
  for (const double deviation : {0.02, 0.1, 0.5}) {
    for (const std::size_t count : {20U, 100U, 1'000U}) {
      int with_slow = 0;
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        with_slow += choose_slow(noisy(count, deviation, seed)).slow.empty() ? 0 : 1;
      }
      EXPECT_LE(with_slow, 10) << count << " instances with a deviation of " << deviation;
    }
  }
}

TEST(SlowSet, FewThatTakeTwiceAsLongAreFound) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Instances instances = noisy(200, 0.05, seed);
    for (const std::size_t slow : {40U, 90U, 150U}) {
      instances.all[slow].duration_ns *= 2;
    }
    std::vector<std::size_t> found = choose_slow(instances).slow;
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (std::vector<std::size_t>{40, 90, 150})) << "seed " << seed;
  }
}

TEST(SlowSet, AGroupBehindAGapIsFoundWhereTheOthersVaryMuch) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Instances instances = noisy(200, 0.5, seed);
    for (std::size_t slow = 10; slow < 200; slow += 20) {
      instances.all[slow].duration_ns = 120'000'000 + static_cast<std::int64_t>(slow) * 100'000;
    }
    const SlowSet set = choose_slow(instances);
    EXPECT_GE(set.slow.size(), 10U) << "seed " << seed;
    EXPECT_LE(set.slow.size(), 12U) << "seed " << seed;
  }
}

TEST(SlowSet, WhatGrowsSlowlyIsComparedWithItsBeginning) {
  Instances instances = noisy(300, 0.02, 1);
  for (std::size_t i = 200; i < 300; ++i) {
    instances.all[i].duration_ns += static_cast<std::int64_t>(i - 200) * 200'000;
  }
  const SlowSet set = choose_slow(instances);
  EXPECT_GT(set.slow.size(), 70U);
  EXPECT_EQ(set.slow.size() + set.usual.size(), 300U);
}

TEST(SlowSet, ATargetIsTakenAsItIs) {
  const Instances instances = noisy(100, 0.1, 1);
  SlowSetOptions options;
  options.over_ns = 10'000'000;
  for (const std::size_t slow : choose_slow(instances, options).slow) {
    EXPECT_GT(instances.all[slow].duration_ns, 10'000'000);
  }
  EXPECT_NEAR(static_cast<double>(choose_slow(instances, options).slow.size()), 50, 15);
}

}  // namespace
}  // namespace kymo::stats
