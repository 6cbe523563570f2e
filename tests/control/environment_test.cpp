#include "control/environment.hpp"

#include <gtest/gtest.h>

namespace kymo::control {
namespace {

using std::chrono::nanoseconds;

TEST(EnvironmentTest, DurationsHaveUnits) {
  EXPECT_EQ(parse_duration("30s"), nanoseconds(30'000'000'000));
  EXPECT_EQ(parse_duration("1.5ms"), nanoseconds(1'500'000));
  EXPECT_EQ(parse_duration("250us"), nanoseconds(250'000));
  EXPECT_EQ(parse_duration("7ns"), nanoseconds(7));
  EXPECT_EQ(parse_duration("2m"), nanoseconds(120'000'000'000));
  EXPECT_EQ(parse_duration("1h"), nanoseconds(3'600'000'000'000));
  EXPECT_EQ(parse_duration("10"), nanoseconds(10'000'000'000));
}

TEST(EnvironmentTest, SizesHaveDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_size("64MB"), 64'000'000U);
  EXPECT_EQ(parse_size("16MiB"), 16U << 20U);
  EXPECT_EQ(parse_size("500k"), 500'000U);
  EXPECT_EQ(parse_size("1G"), 1'000'000'000U);
  EXPECT_EQ(parse_size("123"), 123U);
  EXPECT_EQ(parse_size("2TB"), 2'000'000'000'000U);
  EXPECT_EQ(parse_size("1tib"), std::uint64_t{1} << 40U);
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("0.5"), std::nullopt);
}

TEST(EnvironmentTest, NonsenseIsNotAQuantity) {
  for (const char* text :
       {"", "s", "-1s", "-0", "1 s", "1xs", "nan", "inf", "1e400", "99999999999999999999h", "0x10"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(EnvironmentTest, KeepTakesOneOrBothBoundsInAnyOrder) {
  EXPECT_EQ(parse_keep("30s,64MB")->duration, nanoseconds(30'000'000'000));
  EXPECT_EQ(parse_keep("30s,64MB")->bytes, 64'000'000U);
  EXPECT_EQ(parse_keep("64MB,30s")->bytes, 64'000'000U);
  EXPECT_EQ(parse_keep("2m")->bytes, 0U);
  EXPECT_EQ(parse_keep("1GB")->duration.count(), 0);
  for (const char* text : {"", ",", "30s,20s", "1MB,2MB", "30", "0s", "30s,64MB,1s"}) {
    EXPECT_FALSE(parse_keep(text).has_value()) << text;
  }
}

TEST(EnvironmentTest, LabelsArePairs) {
  const auto labels = parse_labels("team=vision,note=a=b,empty=");
  ASSERT_TRUE(labels.has_value());
  ASSERT_EQ(labels->size(), 3U);
  EXPECT_EQ((*labels)[1], std::make_pair(std::string("note"), std::string("a=b")));
  EXPECT_EQ((*labels)[2].second, "");
  EXPECT_EQ(parse_labels("novalue"), std::nullopt);
  EXPECT_EQ(parse_labels("=value"), std::nullopt);
}

}  // namespace
}  // namespace kymo::control
