// The lock that signal handlers may try: one owner at a time, and waiting that takes no CPU.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "record/platform/signal_safe_lock.hpp"
#include "support/rounds.hpp"

namespace kymo::record {
namespace {

/// What the kernel says a thread does: R runs, S sleeps.
char state_of(long thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && name_end + 2 < line.size() ? line[name_end + 2] : '?';
}

TEST(SignalSafeLock, HasOneOwnerAtATime) {
  SignalSafeLock lock;
  constexpr int count = test::rounds(20'000);
  int total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < count; ++round) {
        ASSERT_TRUE(lock.lock());
        ++total;
        lock.unlock();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(total, 4 * count);
}

TEST(SignalSafeLock, IsRefusedToTheThreadThatHoldsIt) {
  SignalSafeLock lock;
  ASSERT_TRUE(lock.lock());
  EXPECT_FALSE(lock.lock());
  lock.unlock();
  EXPECT_TRUE(lock.lock());
  lock.unlock();
}

TEST(SignalSafeLock, IsWaitedForAsleepAndStillRefusedToItsHolderThen) {
  SignalSafeLock lock;
  ASSERT_TRUE(lock.lock());
  std::atomic<long> waiter_id{0};
  std::thread waiter([&] {
    waiter_id = ::syscall(SYS_gettid);
    EXPECT_TRUE(lock.lock());
    lock.unlock();
  });
  // A thread that starts may sleep for reasons of its own: it is asleep for good when many looks in a row say so.
  constexpr int looks_in_a_row = 200;
  int asleep = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (asleep < looks_in_a_row && std::chrono::steady_clock::now() < deadline) {
    asleep = waiter_id != 0 && state_of(waiter_id) == 'S' ? asleep + 1 : 0;
    std::this_thread::yield();
  }
  EXPECT_EQ(asleep, looks_in_a_row);
  EXPECT_FALSE(lock.lock());
  lock.unlock();
  waiter.join();
}

}  // namespace
}  // namespace kymo::record
