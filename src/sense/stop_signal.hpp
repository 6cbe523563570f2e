// Sleeping until a deadline, or until somebody says stop.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::sense {

/// Raised once by one thread, waited for by others.
class StopSignal {
 public:
  /// Sleeps until CLOCK_MONOTONIC says `deadline_ns`, as exactly as the thread's timer slack allows. False when the
  /// signal was raised.
  [[nodiscard]] bool sleep_until(std::int64_t deadline_ns) noexcept;
  void raise() noexcept;
  /// Before other threads wait.
  void reset() noexcept { is_raised_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] bool is_raised() const noexcept { return is_raised_.load(std::memory_order_acquire) != 0; }

 private:
  std::atomic<std::uint32_t> is_raised_{0};
};

/// CLOCK_MONOTONIC now.
[[nodiscard]] std::int64_t monotonic_now_ns() noexcept;

}  // namespace kymo::sense
