#include "threads/states/event_windows.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace kymo::threads {
namespace {

constexpr std::int64_t look_every_ns = 1'000'000;

/// An event that comes at a rate, looked at each millisecond.
class EventOfARate {
 public:
  EventOfARate() { windows_.start(0); }

  /// For how many of so many milliseconds it was on.
  int on_for(int duration_ms, double rate_hz) {
    int on = 0;
    for (int i = 0; i < duration_ms; ++i) {
      now_ns_ += look_every_ns;
      due_ += rate_hz / 1'000;
      for (; due_ >= 1; due_ -= 1) {
        if (is_on_) {
          windows_.count();
        }
      }
      on += is_on_ ? 1 : 0;
      windows_.look(now_ns_, [this](bool is_on) { is_on_ = is_on; });
    }
    return on;
  }
  [[nodiscard]] bool is_always() const { return windows_.is_always(); }

 private:
  EventWindows windows_{5'000, 1'500};
  std::int64_t now_ns_ = 0;
  double due_ = 0;
  bool is_on_ = true;
};

TEST(EventWindows, ARareEventIsAlwaysOn) {
  EventOfARate event;
  EXPECT_EQ(event.on_for(1'000, 4'900), 1'000);
  EXPECT_TRUE(event.is_always());
}

TEST(EventWindows, AFrequentOneIsOnForASixteenthAndLessWhereThatIsEnough) {
  for (const auto& [rate_hz, share] : {std::pair(10'000.0, 1 / 16.0), {48'000.0, 1 / 32.0}, {1e6, 1 / 64.0}}) {
    EventOfARate event;
    event.on_for(100, rate_hz);
    EXPECT_FALSE(event.is_always());
    // Switching takes real time, after which the pauses are longer.
    int on = 0;
    int seconds = 0;
    for (; seconds < 10 || (on == 0 && seconds < 100'000); ++seconds) {
      on += event.on_for(1'000, rate_hz);
    }
    EXPECT_LE(on, 1'000 * seconds * share * 1.3) << rate_hz;
    EXPECT_GT(on, 0) << rate_hz;
  }
}

TEST(EventWindows, OneThatBecomesRareIsAlwaysOnAgain) {
  EventOfARate event;
  event.on_for(100, 20'000);
  EXPECT_FALSE(event.is_always());
  event.on_for(1'000, 4'000);
  EXPECT_FALSE(event.is_always()) << "not below half";
  for (int seconds = 0; seconds < 100'000 && !event.is_always(); ++seconds) {
    event.on_for(1'000, 2'000);
  }
  EXPECT_TRUE(event.is_always());
  EXPECT_EQ(event.on_for(1'000, 2'000), 1'000);
}

}  // namespace
}  // namespace kymo::threads
