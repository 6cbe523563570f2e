// How a span stands to the others of its site.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "stats/statistics/site_figures.hpp"
#include "support/rounds.hpp"

namespace kymo::test {
namespace {

TEST(SiteFigures, TellTheShareOfShorterDurations) {
  std::mt19937_64 random(12);
  std::normal_distribution<double> usual(4.08e6, 2e4);
  for (unsigned round = 0; round < rounds(30U); ++round) {
    stats::DurationCounter counter;
    std::vector<std::int64_t> durations{40'000'000};  // makes the bars wide
    for (int i = 1; i < 150; ++i) {
      durations.push_back(static_cast<std::int64_t>(usual(random)));
    }
    for (const std::int64_t duration_ns : durations) {
      counter.add(duration_ns);
    }
    const stats::SiteFigures figures = counter.figures();
    std::sort(durations.begin(), durations.end());
    EXPECT_NEAR(figures.share_of_shorter(durations[0]), 0, 1e-9);
    EXPECT_NEAR(figures.share_of_shorter(durations[75]), 0.5, 0.04);
    EXPECT_NEAR(figures.share_of_shorter(durations[37]), 0.25, 0.2);
    EXPECT_NEAR(figures.share_of_shorter(durations[140]), 0.93, 0.1);
    EXPECT_DOUBLE_EQ(figures.share_of_shorter(durations[149]), 149.0 / 150);
    double before = 0;
    for (const std::int64_t duration_ns : durations) {
      const double share = figures.share_of_shorter(duration_ns);
      EXPECT_GE(share, before);
      before = share;
    }
  }
  stats::DurationCounter equal;
  for (int i = 0; i < 4; ++i) {
    equal.add(1000);
  }
  EXPECT_LE(equal.figures().share_of_shorter(1000), 0.75);
}

}  // namespace
}  // namespace kymo::test
