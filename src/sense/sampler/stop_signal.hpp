// Sleeps until a deadline or a stop.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/system/clock.hpp"
#include "base/system/futex.hpp"

namespace kymo::sense {

/// Raised once by one thread, awaited by others.
class StopSignal {
 public:
  /// Sleeps until base::monotonic_now_ns() reaches `deadline_ns`, as exactly as the thread's timer slack allows.
  /// Returns false if the signal was raised.
  [[nodiscard]] bool sleep_until(std::int64_t deadline_ns) noexcept {
    while (!is_raised()) {
      if (base::monotonic_now_ns() >= deadline_ns) {
        return true;
      }
      base::private_futex_wait_until(word(), 0, deadline_ns);
    }
    return false;
  }
  void raise() noexcept {
    is_raised_.store(1, std::memory_order_release);
    base::private_futex_wake_all(word());
  }
  /// Call before other threads wait.
  void reset() noexcept { is_raised_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] bool is_raised() const noexcept { return is_raised_.load(std::memory_order_acquire) != 0; }

 private:
  [[nodiscard]] std::uint32_t* word() noexcept { return reinterpret_cast<std::uint32_t*>(&is_raised_); }

  std::atomic<std::uint32_t> is_raised_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel waits on 32 bits");
};

}  // namespace kymo::sense
