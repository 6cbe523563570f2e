// A lock that a signal handler may try: it fails instead of waiting for the very thread that it interrupted.
#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

#include <kymo/detail/thread_state.hpp>

namespace kymo::record {

class SignalSafeLock {
 public:
  /// Waits for other threads; false when this thread holds it already.
  [[nodiscard]] bool lock() noexcept {
    const std::uintptr_t self = identity();
    std::uintptr_t expected = 0;
    while (!owner_.compare_exchange_weak(expected, self, std::memory_order_acquire, std::memory_order_relaxed)) {
      if (expected == self) {
        return false;
      }
      if (expected != 0) {
        ::sched_yield();
      }
      expected = 0;
    }
    return true;
  }

  void unlock() noexcept { owner_.store(0, std::memory_order_release); }

 private:
  /// The address of a thread-local variable tells threads apart without a system call, and stays after fork.
  static std::uintptr_t identity() noexcept { return reinterpret_cast<std::uintptr_t>(&kymo_thread_v1); }

  std::atomic<std::uintptr_t> owner_{0};
};

}  // namespace kymo::record
