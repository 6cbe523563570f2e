#include "sense/stop_signal.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <ctime>

namespace kymo::sense {

bool StopSignal::sleep_until(std::int64_t deadline_ns) noexcept {
  static_assert(sizeof is_raised_ == sizeof(std::uint32_t), "the kernel waits on 32 bits");
  const timespec deadline{static_cast<time_t>(deadline_ns / 1'000'000'000), deadline_ns % 1'000'000'000};
  while (!is_raised()) {
    if (monotonic_now_ns() >= deadline_ns) {
      return true;
    }
    // Ends with the deadline, a wake, a signal, or without a reason.
    ::syscall(SYS_futex, &is_raised_, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0U, &deadline, nullptr,
              FUTEX_BITSET_MATCH_ANY);
  }
  return false;
}

void StopSignal::raise() noexcept {
  is_raised_.store(1, std::memory_order_release);
  ::syscall(SYS_futex, &is_raised_, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr, 0U);
}

std::int64_t monotonic_now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace kymo::sense
