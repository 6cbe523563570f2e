// A lock that a signal handler may try: it fails instead of waiting for the very thread that it interrupted.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <kymo/detail/thread_state.hpp>

#include "record/futex.hpp"

namespace kymo::record {

/// What a lock is made of in programs; a test that runs it under every interleaving gives another.
struct ThreadsOfThisProcess {
  using Word = std::atomic<std::uintptr_t>;

  /// The address of a thread-local variable tells threads apart without a system call, and stays after fork.
  static std::uintptr_t identity() noexcept {
    static_assert(alignof(decltype(kymo_thread_v1)) > 1, "an address leaves the lowest bit free");
    return reinterpret_cast<std::uintptr_t>(&kymo_thread_v1);
  }

  /// Until the owner is not as it was seen, or for no reason.
  static void sleep(Word& owner, std::uintptr_t seen) noexcept {
    private_futex_wait(low_half(owner), static_cast<std::uint32_t>(seen));
  }
  static void wake_all(Word& owner) noexcept { private_futex_wake_all(low_half(owner)); }

 private:
  static std::uint32_t* low_half(Word& owner) noexcept {
    constexpr std::size_t index =
        std::endian::native == std::endian::little ? 0 : sizeof owner / sizeof(std::uint32_t) - 1;
    return reinterpret_cast<std::uint32_t*>(&owner) + index;
  }
};

/// Who waits sleeps: a thread of a real-time class that span would keep the holder off its CPU, and yielding does not
/// let it back on.
template <typename Threads>
class BasicSignalSafeLock {
 public:
  /// Waits for other threads; false when this thread holds it already.
  [[nodiscard]] bool lock() noexcept {
    const std::uintptr_t self = Threads::identity();
    std::uintptr_t seen = 0;
    while (!owner_.compare_exchange_weak(seen, self, std::memory_order_acquire, std::memory_order_relaxed)) {
      const std::uintptr_t owner = seen & ~waited_for;
      if (owner == self) {
        return false;
      }
      if (owner != 0 && (seen == (owner | waited_for) ||
                         owner_.compare_exchange_strong(seen, owner | waited_for, std::memory_order_relaxed))) {
        Threads::sleep(owner_, owner | waited_for);
      }
      seen = 0;
    }
    return true;
  }

  void unlock() noexcept {
    if ((owner_.exchange(0, std::memory_order_release) & waited_for) != 0) {
      Threads::wake_all(owner_);
    }
  }

 private:
  /// Beside the owner's identity: somebody sleeps until it is done.
  static constexpr std::uintptr_t waited_for = 1;

  typename Threads::Word owner_{0};
};

using SignalSafeLock = BasicSignalSafeLock<ThreadsOfThisProcess>;

}  // namespace kymo::record
