// Clocks, paced and unpaced work for benchmarks of recording threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace kymo::benchmarks {

inline std::uint64_t read_clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

inline std::uint64_t wall_ns() {
  return read_clock_ns(CLOCK_MONOTONIC);
}
inline std::uint64_t thread_cpu_ns() {
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

inline void sleep_until(std::uint64_t time_ns) {
  const timespec time{static_cast<time_t>(time_ns / 1'000'000'000U), static_cast<long>(time_ns % 1'000'000'000U)};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

/// Prevents the compiler from moving memory accesses across and from folding loops. No instruction.
inline void keep() {
  asm volatile("" ::: "memory");
}

/// Accumulated cost of repeated work.
struct Cost {
  std::uint64_t cpu_ns = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t count = 0;

  [[nodiscard]] double cpu_each_ns() const { return static_cast<double>(cpu_ns) / static_cast<double>(count); }
  [[nodiscard]] double wall_each_ns() const { return static_cast<double>(wall_ns) / static_cast<double>(count); }
  void add(const Cost& other) {
    cpu_ns += other.cpu_ns;
    wall_ns += other.wall_ns;
    count += other.count;
  }
};

/// Runs `work(count)` once and adds its cost.
template <typename Work>
void measure(Cost& cost, std::size_t count, const Work& work) {
  const std::uint64_t wall_before = wall_ns();
  const std::uint64_t cpu_before = thread_cpu_ns();
  work(count);
  cost.cpu_ns += thread_cpu_ns() - cpu_before;
  cost.wall_ns += wall_ns() - wall_before;
  cost.count += count;
}

/// Pace of work: a burst per period.
struct Pace {
  std::size_t burst = 20'000;
  std::uint64_t period_ns = 1'000'000;
};

/// Runs a burst per period from `start_ns` until `end_ns`. If the machine delayed the thread, catches up at once, by at
/// most ten periods.
template <typename Work>
void measure_paced(Cost& cost, const Pace& pace, std::uint64_t start_ns, std::uint64_t end_ns, const Work& work) {
  const std::uint64_t most_late_ns = 10 * pace.period_ns;
  std::uint64_t next_ns = start_ns;
  for (;;) {
    const std::uint64_t now_ns = wall_ns();
    if (now_ns > next_ns + most_late_ns) {
      next_ns = now_ns - most_late_ns;
    }
    if (next_ns >= end_ns) {
      return;
    }
    if (next_ns > now_ns) {
      sleep_until(next_ns);
    }
    measure(cost, pace.burst, work);
    next_ns += pace.period_ns;
  }
}

}  // namespace kymo::benchmarks
