// The CPU time of this process's threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <string>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

#include "sense/common/sensor.hpp"
#include "sense/machine_tree.hpp"
#include "support/nanoseconds.hpp"
#include "support/rounds.hpp"

namespace kymo::sense {

SensorMaker make_thread_sensors;
namespace {

using test::second;

double own_cpu_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string key_of_thread(long id) {
  return "thread_cpu_time{thread=" + std::to_string(id) + "}";
}

TEST(ThreadTimes, AreThoseOfTheThreadsOwnClocks) {
  SensorContext context;
  context.process = static_cast<std::uint64_t>(::getpid());
  SensorList sensors;
  make_thread_sensors(context, sensors);
  std::atomic<long> other_id{0};
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    other_id = ::syscall(SYS_gettid);
    while (!is_done) {
      std::this_thread::yield();
    }
  });
  while (other_id == 0) {
    std::this_thread::yield();
  }
  static_cast<void>(test::read_all(sensors, second));
  const double before = own_cpu_s();
  const test::Readings readings = test::read_all(sensors, 2 * second);
  const double after = own_cpu_s();
  const std::string own = key_of_thread(::syscall(SYS_gettid));
  ASSERT_EQ(readings.count(own), 1U);
  EXPECT_GE(readings.at(own), before);
  EXPECT_LE(readings.at(own), after);
  EXPECT_EQ(readings.count(key_of_thread(other_id)), 1U);
  is_done = true;
  other.join();
  const test::Readings later = test::read_all(sensors, 3 * second);
  if (!test::is_emulated) {  // qemu-user tells of a thread's end before the kernel's thread has ended
    EXPECT_EQ(later.count(key_of_thread(other_id)), 0U) << "a thread that ended says nothing more";
  }
  EXPECT_EQ(later.count(own), 1U);
}

TEST(ThreadTimes, AreNotTakenUpForThreadsThatComeAndGoAtOnce) {
  SensorContext context;
  context.process = static_cast<std::uint64_t>(::getpid());
  SensorList sensors;
  make_thread_sensors(context, sensors);
  for (std::int64_t look = 1; look <= 20; ++look) {
    std::atomic<bool> is_done{false};
    std::thread brief([&is_done] {
      while (!is_done) {
        std::this_thread::yield();
      }
    });
    static_cast<void>(test::read_all(sensors, look * second));
    is_done = true;
    brief.join();
  }
  EXPECT_LT(sensors.front()->metrics().size(), 10U);
}

TEST(ThreadTimes, OfAnotherProcessCannotBeHad) {
  const test::MachineTree tree;
  SensorList sensors;
  make_thread_sensors(tree.context(), sensors);
  EXPECT_TRUE(test::read_all(sensors, second).empty());
  EXPECT_NE(sensors.front()->trouble(), "");
}

}  // namespace
}  // namespace kymo::sense
