// Grids: combinations, order, placeholders, verdicts and figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/figure.hpp"
#include "bench/grid.hpp"

namespace kymo::bench {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

TEST(Grid, HasEveryCombinationOnce) {
  const std::vector<Values> all = combine({{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}});
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[1], (Values{{"a", "1"}, {"b", "y"}}));
  EXPECT_EQ(combine({}).size(), 1U);
  const std::vector<std::string> many(1000, "v");
  EXPECT_THROW(static_cast<void>(combine({{"a", many}, {"b", many}})), std::length_error);
}

TEST(Grid, FillsPlaceholders) {
  const Values values{{"a", "1"}, {"b", "{a}"}};
  EXPECT_EQ(fill("--x={a} {b}{{a}}", values), "--x=1 {a}{a}");
  EXPECT_THROW(static_cast<void>(fill("{c}", values)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(fill("{a", values)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(fill("a}", values)), std::invalid_argument);
}

TEST(Grid, EachRoundHasEverySettingAndASeedOneOrder) {
  const std::vector<GridRun> runs = order_runs(5, {1, 3, 7, true});
  ASSERT_EQ(runs.size(), 20U);
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t round = 0; round < 4; ++round) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < 5; ++i) {
      const GridRun& run = runs[round * 5 + i];
      EXPECT_EQ(run.is_warmup, round == 0);
      EXPECT_EQ(run.repetition, round == 0 ? 0 : round - 1);
      order.push_back(run.setting);
    }
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  }
  EXPECT_GT(orders.size(), 1U);
  const std::vector<GridRun> again = order_runs(5, {1, 3, 7, true});
  EXPECT_TRUE(std::equal(runs.begin(), runs.end(), again.begin(),
                         [](const GridRun& left, const GridRun& right) { return left.setting == right.setting; }));
  EXPECT_EQ(order_runs(3, {0, 1, 7, false})[2].setting, 2U);
}

TEST(Grid, JudgesMediansAndRatios) {
  const Measurements base{{"t", {4, 2, not_a_number, 3}}};
  const Measurements fast{{"t", {2, 1.5, 1}}, {"energy_j", {not_a_number}}};
  EXPECT_EQ(median_of(base, "t"), 3);
  EXPECT_EQ(median_of({{"t", {1, 2, 3, 4}}}, "t"), 2) << "nearest rank";
  EXPECT_EQ(range_of(base, "t"), std::pair(2.0, 4.0));
  Criterion criterion{"faster", "t", std::nullopt, 0.5, true};
  EXPECT_EQ(judge(criterion, fast, &base).result, Verdict::Result::met);
  EXPECT_EQ(judge(criterion, fast, &base).value, 0.5);
  EXPECT_EQ(judge(criterion, base, &base).result, Verdict::Result::missed);
  EXPECT_EQ(judge(criterion, fast, nullptr).result, Verdict::Result::unknown);
  criterion.metric = "energy_j";
  EXPECT_EQ(judge(criterion, fast, &base).result, Verdict::Result::unknown);
}

TEST(Grid, NamesOfFilesLeadNowhereElse) {
  EXPECT_EQ(as_file_name("a=1,b=x/y"), "a=1,b=x_y");
  EXPECT_EQ(as_file_name("../etc"), "_.._etc");
  EXPECT_EQ(as_file_name("-rf"), "_-rf");
  EXPECT_EQ(as_file_name(""), "_");
}

TEST(Figure, TicksAreRoundNumbersWithinTheAxis) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_TRUE(ticks(1, 1, 5).empty());
  EXPECT_TRUE(ticks(0, std::numeric_limits<double>::infinity(), 5).empty());
  EXPECT_EQ(short_number(0.1 + 0.2), "0.3");
  EXPECT_EQ(short_number(1'500'000), "1.5 M");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(0.999987), "0.99999");
  EXPECT_EQ(short_number(0.999985, 0.000005), "0.999985") << "beside 0.99999";
  EXPECT_EQ(short_number(0.99, 0.000005), "0.99");
  EXPECT_EQ(short_number(1'234'500, 500), "1.2345 M");
}

TEST(Figure, AnSvgHasTheTextsAndSurvivesWhatIsMissing) {
  Figure figure{
      "<t> & \"q\"", "n", true, {{"a", {{1, 2, 1, 3, ""}, {2, not_a_number, not_a_number, not_a_number, ""}}}}, 2.5};
  const std::string svg = to_svg(figure);
  EXPECT_NE(svg.find("&lt;t&gt; &amp; &quot;q&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  figure.series[0].points[0].y = figure.series[0].points[0].low = figure.series[0].points[0].high = not_a_number;
  figure.baseline = not_a_number;
  EXPECT_NE(to_svg(figure).find("no values"), std::string::npos);
  figure.is_lines = false;
  EXPECT_NE(to_svg(figure).find("no value"), std::string::npos);
}

}  // namespace
}  // namespace kymo::bench
