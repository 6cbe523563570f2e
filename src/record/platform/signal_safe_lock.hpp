// Locks for signal handlers: none waits for the thread that a handler interrupted.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <kymo/detail/thread_state.hpp>

#include "base/system/futex.hpp"
#include "record/platform/platform.hpp"

namespace kymo::record {

/// The lock's primitives in programs; a test that runs it under every interleaving substitutes its own.
struct ThreadsOfThisProcess {
  using Word = std::atomic<std::uintptr_t>;

  /// The address of a thread-local variable identifies a thread without a system call and survives fork.
  static std::uintptr_t identity() noexcept {
    static_assert(alignof(decltype(kymo_thread_v3)) > 1, "an address leaves the lowest bit free");
    return reinterpret_cast<std::uintptr_t>(&kymo_thread_v3);
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

/// A lock that signal handlers take as well. Signals are held back under it, so that no handler interrupts its holder:
/// who waits for it waits for a thread that goes on, also where a handler forks.
class UninterruptedLock {
 public:
  /// False in the handler of a fault under the lock, and where its holder does not come back.
  [[nodiscard]] bool lock() noexcept {
    hold_signals();
    const bool is_taken = is_lost_.load(std::memory_order_relaxed) ? lock_.try_lock() : lock_.lock(most_sleeps);
    if (!is_taken) {
      is_lost_.store(!lock_.is_own(), std::memory_order_relaxed);
      release_signals();
    }
    return is_taken;
  }
  void unlock() noexcept {
    is_lost_.store(false, std::memory_order_relaxed);
    lock_.unlock();
    release_signals();
  }

 private:
  /// Two seconds. Work under the lock takes microseconds: a holder that keeps it so long left it by siglongjmp out of a
  /// fault's handler.
  static constexpr std::uint32_t most_sleeps = 400;

  SignalSafeLock lock_;
  std::atomic<bool> is_lost_{false};
};

/// A mutex of calls that no handler makes, but that a handler may interrupt. A fork takes it: where a handler forks,
/// its own thread does not hold it.
class UninterruptedMutex {
 public:
  void lock() {
    hold_signals();
    mutex_.lock();
  }
  void unlock() noexcept {
    mutex_.unlock();
    release_signals();
  }

 private:
  std::mutex mutex_;
};

}  // namespace kymo::record
