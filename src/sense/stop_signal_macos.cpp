#include <algorithm>
#include <cstdint>
#include <ctime>

#include "record/futex_macos.hpp"
#include "sense/stop_signal.hpp"

namespace kymo::sense {

bool StopSignal::sleep_until(std::int64_t deadline_ns) noexcept {
  static_assert(sizeof is_raised_ == sizeof(std::uint32_t), "the kernel waits on 32 bits");
  while (!is_raised()) {
    const std::int64_t left_ns = deadline_ns - monotonic_now_ns();
    if (left_ns <= 0) {
      return true;
    }
    // Ends with the time, a wake, a signal, or without a reason. A time of zero would be none.
    const auto left_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>((left_ns + 999) / 1000, 1, INT32_MAX));
    ::__ulock_wait(record::ulock_compare_and_wait | record::ulock_no_errno, &is_raised_, 0, left_us);
  }
  return false;
}

void StopSignal::raise() noexcept {
  is_raised_.store(1, std::memory_order_release);
  ::__ulock_wake(record::ulock_compare_and_wait | record::ulock_wake_all | record::ulock_no_errno, &is_raised_, 0);
}

std::int64_t monotonic_now_ns() noexcept {
  return static_cast<std::int64_t>(::clock_gettime_nsec_np(CLOCK_UPTIME_RAW));
}

}  // namespace kymo::sense
