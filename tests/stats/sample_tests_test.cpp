// Tests of samples: how often they see what is not there, and how often what is.
#include "stats/common/sample_tests.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "stats/common/reservoir.hpp"
#include "stats/compare/comparison.hpp"

namespace kymo::test {
namespace {

/// What verdicts go by where a single thing is tested.
constexpr double level = stats::ComparisonOptions().false_discovery_rate;

using Draw = std::function<double(std::mt19937_64&)>;

std::vector<double> draw_many(const Draw& draw, std::size_t count, std::mt19937_64& random) {
  std::vector<double> values(count);
  for (double& value : values) {
    value = draw(random);
  }
  std::sort(values.begin(), values.end());
  return values;
}

double normal(std::mt19937_64& random) {
  return std::normal_distribution<double>(100, 10)(random);
}
double log_normal(std::mt19937_64& random) {
  return std::lognormal_distribution<double>(5, 0.8)(random);
}
double bimodal(std::mt19937_64& random) {
  return random() % 4 == 0 ? std::normal_distribution<double>(300, 10)(random) : normal(random);
}

TEST(RankTest, RaisesAtMostFiveFalseAlarmsInAHundred) {
  std::uint32_t seed = 0;
  for (const Draw& draw : {Draw(normal), Draw(log_normal), Draw(bimodal)}) {
    for (const std::size_t count : {std::size_t{20}, std::size_t{200}}) {
      std::mt19937_64 random(++seed);
      int alarms = 0;
      for (int i = 0; i < 1000; ++i) {
        const auto half = draw_many(draw, count, random);
        const auto other_half = draw_many(draw, count, random);
        alarms += stats::mann_whitney(half, other_half).p_value <= level ? 1 : 0;
      }
      EXPECT_LE(alarms, 50) << "distribution and size number " << seed;
      EXPECT_GE(alarms, 10) << "a test that never says anything";
    }
  }
}

TEST(RankTest, SeesSlowdownsThatMatter) {
  const auto found_of_100 = [](std::size_t count, double slowdown) {
    std::mt19937_64 random(9);
    int found = 0;
    for (int i = 0; i < 100; ++i) {
      const auto base = draw_many(normal, count, random);
      const auto slower = draw_many([slowdown](auto& source) { return slowdown * normal(source); }, count, random);
      const stats::RankTest test = stats::mann_whitney(base, slower);
      found += test.p_value <= level && test.greater > 0.5 ? 1 : 0;
    }
    return found;
  };
  EXPECT_GE(found_of_100(200, 1.05), 95);
  EXPECT_GE(found_of_100(20, 1.15), 95);
}

TEST(Bootstrap, IntervalsHoldTheTruthNineteenTimesInTwenty) {
  std::mt19937_64 random(4);
  int held = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<double> base = draw_many(log_normal, 100, random);
    const std::vector<double> changed = draw_many([](auto& source) { return 7 + log_normal(source); }, 100, random);
    const auto found = stats::bootstrap_differences(base, changed, 500, stats::RandomSource(1, 0));
    held += found.median.contains(7) ? 1 : 0;
  }
  EXPECT_GE(held, 180);
  EXPECT_LE(held, 199);
}

// A base that varies by a factor of ten: differences reach far below the median of the base, which no share may.
TEST(Bootstrap, NothingGetsMoreThanAllOfItFaster) {
  const std::vector<double> base{10, 10, 10, 100, 100, 100};
  const std::vector<double> changed{0, 0, 0, 0, 1};
  const auto found = stats::bootstrap_differences(base, changed, 2000, stats::RandomSource(1, 0));
  EXPECT_EQ(found.base_median, 10);
  EXPECT_EQ(found.median.low, -100);
  EXPECT_EQ(found.median_share.low, -1);
  EXPECT_LE(found.median_share.high, -0.9);
  const std::vector<double> zeros{0, 0, 0, 0, 0};
  const auto from_zero = stats::bootstrap_differences(zeros, base, 100, stats::RandomSource(1, 0));
  EXPECT_TRUE(std::isinf(from_zero.median_share.low));
  const auto none = stats::bootstrap_differences(zeros, zeros, 100, stats::RandomSource(1, 0));
  EXPECT_EQ(none.median_share.high, 0);
}

TEST(Bootstrap, IsTheSameForTheSameSeed) {
  std::mt19937_64 random(4);
  const std::vector<double> base = draw_many(normal, 50, random);
  const std::vector<double> changed = draw_many(normal, 60, random);
  const auto once = stats::bootstrap_differences(base, changed, 1000, stats::RandomSource(3, 1));
  const auto again = stats::bootstrap_differences(base, changed, 1000, stats::RandomSource(3, 1));
  EXPECT_EQ(once.median.low, again.median.low);
  EXPECT_EQ(once.p95.high, again.p95.high);
}

TEST(Reservoir, KeepsEveryValueAsLikelyAsTheOthers) {
  constexpr int values = 1000;
  std::vector<int> kept(values, 0);
  for (std::uint64_t round = 0; round < 2000; ++round) {
    stats::Reservoir reservoir(50, stats::RandomSource(11, round));
    for (int i = 0; i < values; ++i) {
      reservoir.add(i);
    }
    EXPECT_EQ(reservoir.count(), 1000U);
    const auto chosen = reservoir.release();
    ASSERT_EQ(chosen.size(), 50U);
    for (const double value : chosen) {
      ++kept[static_cast<std::size_t>(value)];
    }
  }
  // Each is kept 100 times, give or take 9.7; a tenth of the stretch 10,000 times, give or take some 90.
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    int in_tenth = 0;
    for (std::size_t i = 0; i < 100; ++i) {
      const int times = kept[tenth * 100 + i];
      EXPECT_GT(times, 50);
      EXPECT_LT(times, 150);
      in_tenth += times;
    }
    EXPECT_NEAR(in_tenth, 10'000, 450);
  }
}

}  // namespace
}  // namespace kymo::test
