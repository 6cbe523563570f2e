#include "sense/sampler/deadline_timer.hpp"
#include "base/system/clock.hpp"
#include "support/nanoseconds.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace kymo::sense {
namespace {

using test::ms;

class DeadlineTimerTest : public testing::Test {
 protected:
  void TearDown() override { timer_.close(); }

  /// Sleeps through so many deadlines, a millisecond apart.
  void expect_deadlines_kept(int count) {
    std::int64_t deadline_ns = base::monotonic_now_ns() + ms;
    for (int i = 0; i < count; ++i, deadline_ns += ms) {
      ASSERT_TRUE(timer_.sleep_until(stop_, deadline_ns, deadline_ns + ms));
      ASSERT_GE(base::monotonic_now_ns(), deadline_ns) << i;
    }
  }

  StopSignal stop_;
  DeadlineTimer timer_;
};

std::vector<int> open_timers() {
  std::vector<int> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == "anon_inode:[timerfd]") {
      files.push_back(std::atoi(entry.path().filename().c_str()));
    }
  }
  return files;
}

TEST_F(DeadlineTimerTest, NoSleepEndsBeforeItsDeadline) {
  timer_.open();
  expect_deadlines_kept(50);
}

TEST_F(DeadlineTimerTest, WithoutTimersItSleepsAsWell) {
  expect_deadlines_kept(5);
}

TEST_F(DeadlineTimerTest, ADeadlineMayComeThatWasNotTheFollowingOne) {
  timer_.open();
  const std::int64_t start_ns = base::monotonic_now_ns();
  // The timer that was set ahead is an hour late, then two timers are.
  const std::int64_t hour_ns = 3'600'000 * ms;
  for (const std::int64_t deadline_ns : {start_ns + 2 * ms, start_ns + 4 * ms, start_ns + 5 * ms}) {
    ASSERT_TRUE(timer_.sleep_until(stop_, deadline_ns, start_ns + hour_ns));
    EXPECT_GE(base::monotonic_now_ns(), deadline_ns);
  }
  EXPECT_LT(base::monotonic_now_ns(), start_ns + hour_ns);
}

TEST_F(DeadlineTimerTest, ASleeperIsWokenWhetherItSleepsAlreadyOrNot) {
  timer_.open();
  const std::int64_t hour_ns = base::monotonic_now_ns() + 3'600'000 * ms;
  timer_.wake();
  EXPECT_TRUE(timer_.sleep_until(stop_, hour_ns, 2 * hour_ns));
  std::thread sleeper([&] { EXPECT_TRUE(timer_.sleep_until(stop_, hour_ns, 2 * hour_ns)); });
  timer_.wake();
  sleeper.join();
  EXPECT_LT(base::monotonic_now_ns(), hour_ns);
  expect_deadlines_kept(5);
}

TEST_F(DeadlineTimerTest, ASleepEndsWithTheSignal) {
  for (const bool has_timers : {true, false}) {
    if (has_timers) {
      timer_.open();
    } else {
      timer_.close();
    }
    stop_.reset();
    const std::int64_t hour_ns = base::monotonic_now_ns() + 3'600'000 * ms;
    std::thread sleeper([&] { EXPECT_FALSE(timer_.sleep_until(stop_, hour_ns, 2 * hour_ns)); });
    stop_.raise();
    timer_.wake();
    sleeper.join();
  }
}

TEST_F(DeadlineTimerTest, AProgramMayCloseAllDescriptorsThereAre) {
  timer_.open();
  expect_deadlines_kept(2);
  const std::vector<int> files = open_timers();
  ASSERT_EQ(files.size(), 2U);
  for (const int file : files) {
    ::close(file);
  }
  expect_deadlines_kept(5);
}

}  // namespace
}  // namespace kymo::sense
