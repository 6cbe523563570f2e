// The arithmetic of time axes.
#include "panel/layout/time_axis.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "panel/draw/text.hpp"

namespace kymo::panel {
namespace {

TimeAxis axis_of_a_second() {
  TimeAxis axis;
  axis.set_width(1000);
  axis.set_bounds({5'000'000'000, 6'000'000'000});
  return axis;
}

TEST(TimeAxis, ShowsEverythingUntilToldOtherwise) {
  TimeAxis axis = axis_of_a_second();
  EXPECT_TRUE(axis.shows_all());
  axis.set_bounds({5'000'000'000, 7'000'000'000});
  EXPECT_EQ(axis.length_ns(), 2'000'000'000);
  axis.show({5'500'000'000, 5'600'000'000});
  axis.set_bounds({5'000'000'000, 9'000'000'000});
  EXPECT_EQ(axis.range().start_ns, 5'500'000'000);
  EXPECT_EQ(axis.range().end_ns, 5'600'000'000);
}

TEST(TimeAxis, ZoomKeepsTheTimeUnderThePointer) {
  TimeAxis axis = axis_of_a_second();
  const std::int64_t under = axis.to_time(300);
  for (int i = 0; i < 20; ++i) {
    axis.zoom(0.8, 300);
    EXPECT_NEAR(axis.to_pixel(under), 300, 0.01);
  }
  EXPECT_NEAR(static_cast<double>(axis.length_ns()), 1e9 * 0.011529215, 1e3);
}

TEST(TimeAxis, ZoomEndsAtItsBoundsAndAtItsLeastLength) {
  TimeAxis axis = axis_of_a_second();
  for (int i = 0; i < 200; ++i) {
    axis.zoom(0.5, 900);
  }
  EXPECT_EQ(axis.length_ns(), TimeAxis::least_length_ns);
  for (int i = 0; i < 200; ++i) {
    axis.zoom(2, 10);
  }
  EXPECT_TRUE(axis.shows_all());
  EXPECT_EQ(axis.range().start_ns, 5'000'000'000);
}

TEST(TimeAxis, PanStopsAtTheBounds) {
  TimeAxis axis = axis_of_a_second();
  axis.show({5'400'000'000, 5'500'000'000});
  axis.pan(100);
  EXPECT_EQ(axis.range().start_ns, 5'390'000'000);
  axis.pan(1e6);
  EXPECT_EQ(axis.range().start_ns, 5'000'000'000);
  axis.pan(-1e6);
  EXPECT_EQ(axis.range().end_ns, 6'000'000'000);
  EXPECT_EQ(axis.length_ns(), 100'000'000);
}

TEST(TimeAxis, AnyTimesAreTaken) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  TimeAxis axis;
  axis.set_width(1920);
  for (const TimeRange bounds : {TimeRange{least, most}, TimeRange{most, least}, TimeRange{most, most}}) {
    axis.set_bounds(bounds);
    axis.fit();
    for (const TimeRange range : {TimeRange{least, most}, TimeRange{most, least}, TimeRange{0, 0}}) {
      axis.show(range);
      axis.zoom(1e300, -5);
      axis.zoom(1e-300, 5);
      axis.pan(1e300);
      EXPECT_GE(axis.length_ns(), TimeAxis::least_length_ns);
      EXPECT_GE(axis.range().start_ns, axis.bounds().start_ns);
      EXPECT_LE(axis.range().end_ns, axis.bounds().end_ns);
      EXPECT_LE(axis.to_pixel(most), 1e9);
      EXPECT_GE(axis.to_pixel(least), -1e9);
    }
  }
}

TEST(TimeAxis, TicksHaveRoomForTheirTexts) {
  // Minutes into a capture the texts of ticks of some nanoseconds are long.
  const auto width_of = [](std::int64_t tick_ns, std::int64_t distance_ns) {
    return 8.0 * static_cast<double>(tick_text(tick_ns, distance_ns).size());
  };
  TimeAxis axis;
  axis.set_bounds({1'000'000'000, 500'000'000'000});
  axis.set_width(1000);
  for (const std::int64_t length_ns : {20, 100, 200, 500, 2000, 100'000, 1'000'000'000}) {
    axis.show({331'851'505'400, 331'851'505'400 + length_ns});
    const std::int64_t distance_ns = roomy_tick_distance_ns(axis, 91, width_of);
    const std::int64_t first_ns = 330'851'505'400 / distance_ns * distance_ns;
    const double pixels = static_cast<double>(distance_ns) / axis.ns_per_pixel();
    EXPECT_GE(pixels, 91);
    EXPECT_GE(pixels, width_of(first_ns, distance_ns)) << length_ns;
    EXPECT_LE(pixels, 500) << length_ns;
    EXPECT_NE(tick_text(first_ns, distance_ns), tick_text(first_ns + distance_ns, distance_ns));
  }
}

TEST(TimeAxis, TicksAreRoundAndFew) {
  EXPECT_EQ(tick_distance_ns(1'000'000'000, 10), 100'000'000);
  EXPECT_EQ(tick_distance_ns(1'000'000'000, 9), 200'000'000);
  EXPECT_EQ(tick_distance_ns(1'000'000'000, 3), 500'000'000);
  EXPECT_EQ(tick_distance_ns(20, 100), 1);
}

}  // namespace
}  // namespace kymo::panel
