// A lock for signal handlers: it fails instead of waiting for the thread that the handler interrupted.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <kymo/detail/thread_state.hpp>

#include "base/system/futex.hpp"
#include "record/platform/platform.hpp"

namespace kymo::record {

/// The lock's primitives in programs; a test that runs it under every interleaving substitutes its own.
struct ThreadsOfThisProcess {
  using Word = std::atomic<std::uintptr_t>;

  /// The address of a thread-local variable identifies a thread without a system call and survives fork.
  static std::uintptr_t identity() noexcept {
    static_assert(alignof(decltype(kymo_thread_v2)) > 1, "an address leaves the lowest bit free");
    return reinterpret_cast<std::uintptr_t>(&kymo_thread_v2);
  }

  /// Sleeps until the owner changes, or wakes for no reason.
  static void sleep(Word& owner, std::uintptr_t seen) noexcept {
    base::private_futex_wait(low_half(owner), static_cast<std::uint32_t>(seen));
  }
  static void wake_all(Word& owner) noexcept { base::private_futex_wake_all(low_half(owner)); }

 private:
  static std::uint32_t* low_half(Word& owner) noexcept {
    constexpr std::size_t index =
        std::endian::native == std::endian::little ? 0 : sizeof owner / sizeof(std::uint32_t) - 1;
    return reinterpret_cast<std::uint32_t*>(&owner) + index;
  }
};

/// Waiters sleep: a real-time thread that spins would keep the holder off its CPU, and yielding does not help.
template <typename Threads>
class BasicSignalSafeLock {
 public:
  /// Waits for other threads. False if this thread already holds it, or after so many sleeps.
  [[nodiscard]] bool lock(std::uint32_t most_sleeps = ~std::uint32_t{0}) noexcept {
    const std::uintptr_t self = Threads::identity();
    std::uintptr_t seen = 0;
    while (!owner_.compare_exchange_weak(seen, self, std::memory_order_acquire, std::memory_order_relaxed)) {
      const std::uintptr_t owner = seen & ~waited_for;
      if (owner == self) {
        return false;
      }
      if (owner != 0 && (seen == (owner | waited_for) ||
                         owner_.compare_exchange_strong(seen, owner | waited_for, std::memory_order_relaxed))) {
        if (most_sleeps-- == 0) {
          return false;
        }
        Threads::sleep(owner_, owner | waited_for);
      }
      seen = 0;
    }
    return true;
  }

  /// Does not wait; false if anybody holds it.
  [[nodiscard]] bool try_lock() noexcept {
    std::uintptr_t seen = 0;
    return owner_.compare_exchange_strong(seen, Threads::identity(), std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }

  /// Whether this thread holds it.
  [[nodiscard]] bool is_own() const noexcept {
    return (owner_.load(std::memory_order_relaxed) & ~waited_for) == Threads::identity();
  }

  void unlock() noexcept {
    if ((owner_.exchange(0, std::memory_order_release) & waited_for) != 0) {
      Threads::wake_all(owner_);
    }
  }

 private:
  /// Flag beside the owner's identity: somebody sleeps until the lock is released.
  static constexpr std::uintptr_t waited_for = 1;

  typename Threads::Word owner_{0};
};

using SignalSafeLock = BasicSignalSafeLock<ThreadsOfThisProcess>;

/// One of several locks that handlers take in any order. A handler that interrupted the holder of one of them does not
/// wait for another, whose holder may be interrupted by a handler that waits for the first.
class NestedLock {
 public:
  /// False if this thread already holds it, or holds another one while this one is taken.
  [[nodiscard]] bool lock() noexcept {
    if (held != 0 && !blocks_signals()) {
      // A handler left by siglongjmp interrupted work under the locks. All such work becomes visible by its last store,
      // so the unfinished part is invisible.
      held = 0;
    }
    const bool is_nested = held++ != 0;
    detail::signal_fence();
    const bool is_taken = is_nested || is_stuck_.load(std::memory_order_relaxed) ? take_free_or_own() : wait();
    held -= is_taken ? 0 : 1;
    return is_taken;
  }
  void unlock() noexcept {
    is_stuck_.store(false, std::memory_order_relaxed);
    lock_.unlock();
    detail::signal_fence();
    --held;
  }

  /// For the one thread that forks: waits even if it holds another lock, but not for itself.
  [[nodiscard]] bool lock_in_any_case() noexcept {
    ++held;
    const bool is_taken = lock_.lock();
    held -= is_taken ? 0 : 1;
    return is_taken;
  }

 private:
  /// If this thread holds it outside any handler, it left by siglongjmp a handler that held it.
  [[nodiscard]] bool take_free_or_own() noexcept { return lock_.try_lock() || (lock_.is_own() && !blocks_signals()); }
  /// Work under it takes microseconds. A holder that keeps it for two seconds left by siglongjmp and takes it again
  /// with its thread's next event. Until then nobody waits.
  [[nodiscard]] bool wait() noexcept {
    constexpr std::uint32_t most_sleeps = 400;
    const bool is_taken = lock_.lock(most_sleeps) || take_free_or_own();
    if (!is_taken && !lock_.is_own()) {
      is_stuck_.store(true, std::memory_order_relaxed);
    }
    return is_taken;
  }

  static inline __thread int held KYMO_STATIC_TLS = 0;

  SignalSafeLock lock_;
  std::atomic<bool> is_stuck_{false};
};

}  // namespace kymo::record
