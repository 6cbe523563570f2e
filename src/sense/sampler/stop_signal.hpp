// Sleeps until a deadline or a stop.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::sense {

/// Raised once by one thread, awaited by others.
class StopSignal {
 public:
  /// Sleeps until base::monotonic_now_ns() reaches `deadline_ns`, as exactly as the thread's timer slack allows.
  /// Returns false if the signal was raised.
  [[nodiscard]] bool sleep_until(std::int64_t deadline_ns) noexcept;
  void raise() noexcept;
  /// Call before other threads wait.
  void reset() noexcept { is_raised_.store(0, std::memory_order_relaxed); }
  [[nodiscard]] bool is_raised() const noexcept { return is_raised_.load(std::memory_order_acquire) != 0; }

 private:
  [[nodiscard]] std::uint32_t* word() noexcept { return reinterpret_cast<std::uint32_t*>(&is_raised_); }

  std::atomic<std::uint32_t> is_raised_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel waits on 32 bits");
};

}  // namespace kymo::sense
