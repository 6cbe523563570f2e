// Locks that record waits, with their holders, and hold times.
//
//     kymo::Lockable<std::mutex> queue_mutex{"queue"};
//     const std::lock_guard lock(queue_mutex);
#pragma once

#include <atomic>
#include <cstdint>

#include <kymo/kymo.h>
#include <kymo/detail/chrono.hpp>
#include <kymo/detail/hot_path.hpp>
#include <kymo/export.hpp>

namespace kymo {

namespace detail {

/// State of a lock. Everything except `holder` and `shared` is owned by the exclusive holder.
struct LockState {
  const char* name;
  const char* file;
  std::uint32_t line;
  std::uint32_t depth = 0;               ///< number of recursive re-locks
  std::atomic<void*> lane{nullptr};      ///< the recorder's; null before the first recorded hold
  std::atomic<std::uint64_t> holder{0};  ///< the recorder's; 0: unknown or none
  std::atomic<std::uint64_t> shared{0};  ///< number of shared holders << 48 | start time of the first
  std::uint64_t start = 0;               ///< start time of the hold; 0: not recorded
  const char* place_file = nullptr;      ///< place of the latest lock
  std::uint32_t place_line = 0;
  std::uint32_t place = 0;  ///< the recorder's
};

/// A hold that has ended.
struct LockHold {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t holder;
  void* lane;
};

}  // namespace detail

extern "C" {
KYMO_API kymo_scope kymo_lock_wait_v2(kymo::detail::LockState* lock);
KYMO_API void kymo_lock_taken_v1(kymo::detail::LockState* lock, const char* file, const char* function,
                                 std::uint32_t line);
KYMO_API kymo::detail::LockHold kymo_lock_release_v1(kymo::detail::LockState* lock);
KYMO_API void kymo_lock_shared_v1(kymo::detail::LockState* lock);
KYMO_API kymo::detail::LockHold kymo_lock_release_shared_v1(kymo::detail::LockState* lock);
KYMO_API void kymo_lock_held_v1(const kymo::detail::LockHold* hold);
}

/// A recorded mutex. Works with std::lock_guard, std::unique_lock, std::scoped_lock, std::shared_lock and
/// std::condition_variable_any wherever `Mutex` does. `Mutex` is std::mutex, std::recursive_mutex, std::timed_mutex,
/// std::shared_mutex or a similar type.
///
/// A hold is a span on the lock's own track. A wait is recorded only if the lock was not free. It is a scope of the
/// waiting thread or fiber that names the holder at the start of the wait. Locks with the same name and place in the
/// code share a track. The holder is named by the line that took the lock if that line calls lock() itself, or mark()
/// afterwards; otherwise by the thread's name, since a std::lock_guard does not pass on its location.
///
/// Uncontended, locking and unlocking cost at most as much as two scopes; while scopes are not recorded, each costs a
/// load and a branch. Memory ordering is that of `Mutex`.
template <typename Mutex>
class Lockable {
 public:
  /// The name is a literal or lives as long as the process. The first 80 bytes are shown.
  KYMO_SKIP
  explicit Lockable(const char* name = "lock", const char* file = __builtin_FILE(),
                    std::uint32_t line = __builtin_LINE()) noexcept(noexcept(Mutex()))
      : state_{name, file, line} {}
  Lockable(const Lockable&) = delete;
  Lockable& operator=(const Lockable&) = delete;

  KYMO_SKIP
  void lock(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
            std::uint32_t line = __builtin_LINE()) {
    if (!detail::scopes_on()) {
      mutex_.lock();
      note_taken_again();
      return;
    }
    if (!mutex_.try_lock()) {
      const Wait wait(state_);
      mutex_.lock();
    }
    kymo_lock_taken_v1(&state_, file, function, line);
  }

  [[nodiscard]] KYMO_SKIP
  bool try_lock(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                std::uint32_t line = __builtin_LINE()) {
    return note(mutex_.try_lock(), file, function, line);
  }

  template <typename Rep, typename Period>
  [[nodiscard]] KYMO_SKIP
  bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout, const char* file = __builtin_FILE(),
                    const char* function = __builtin_FUNCTION(), std::uint32_t line = __builtin_LINE()) {
    return note(wait_for_it([&] { return mutex_.try_lock(); }, [&] { return mutex_.try_lock_for(timeout); }), file,
                function, line);
  }

  template <typename Clock, typename Duration>
  [[nodiscard]] KYMO_SKIP
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline, const char* file = __builtin_FILE(),
                      const char* function = __builtin_FUNCTION(), std::uint32_t line = __builtin_LINE()) {
    return note(wait_for_it([&] { return mutex_.try_lock(); }, [&] { return mutex_.try_lock_until(deadline); }), file,
                function, line);
  }

  KYMO_SKIP
  void unlock() {
    if (state_.start == 0) {
      mutex_.unlock();
      return;
    }
    if (state_.depth != 0) {
      --state_.depth;
      mutex_.unlock();
      return;
    }
    const detail::LockHold hold = kymo_lock_release_v1(&state_);
    mutex_.unlock();
    // From here on another thread may own or destroy the lock.
    kymo_lock_held_v1(&hold);
  }

  /// For a `Mutex` that can be shared. Records the interval from the first to the last of the concurrent shared
  /// holders.
  KYMO_SKIP
  void lock_shared() {
    if (!detail::scopes_on()) {
      mutex_.lock_shared();
      return;
    }
    if (!mutex_.try_lock_shared()) {
      const Wait wait(state_);
      mutex_.lock_shared();
    }
    kymo_lock_shared_v1(&state_);
  }

  [[nodiscard]] KYMO_SKIP
  bool try_lock_shared() { return note_shared(mutex_.try_lock_shared()); }

  template <typename Rep, typename Period>
  [[nodiscard]] KYMO_SKIP
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& timeout) {
    return note_shared(
        wait_for_it([&] { return mutex_.try_lock_shared(); }, [&] { return mutex_.try_lock_shared_for(timeout); }));
  }

  template <typename Clock, typename Duration>
  [[nodiscard]] KYMO_SKIP
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    return note_shared(
        wait_for_it([&] { return mutex_.try_lock_shared(); }, [&] { return mutex_.try_lock_shared_until(deadline); }));
  }

  KYMO_SKIP
  void unlock_shared() {
    if (state_.shared.load(std::memory_order_relaxed) == 0) {
      mutex_.unlock_shared();
      return;
    }
    const detail::LockHold hold = kymo_lock_release_shared_v1(&state_);
    mutex_.unlock_shared();
    kymo_lock_held_v1(&hold);
  }

  /// For holders that use a std::lock_guard: waiters name this line as the holder.
  KYMO_SKIP
  void mark(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
            std::uint32_t line = __builtin_LINE()) noexcept {
    if (state_.start != 0) {
      const std::uint64_t start = state_.start;
      const std::uint32_t depth = state_.depth;
      state_.start = 0;
      kymo_lock_taken_v1(&state_, file, function, line);
      state_.start = start;
      state_.depth = depth;
    }
  }

  /// The wrapped mutex. Direct use of it is not recorded.
  [[nodiscard]] KYMO_SKIP
  Mutex& mutex() noexcept { return mutex_; }

 private:
  /// Records a wait for its own lifetime.
  class Wait {
   public:
    KYMO_SKIP
    explicit Wait(detail::LockState& state) noexcept : scope_(kymo_lock_wait_v2(&state)) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    KYMO_SKIP
    ~Wait() {
      if (scope_.token != 0) {
        detail::close_scope({scope_.token});
      }
    }

   private:
    kymo_scope scope_;
  };

  template <typename Try, typename TryLong>
  KYMO_SKIP
  bool wait_for_it(const Try& try_now, const TryLong& try_long) {
    if (!detail::scopes_on()) {
      return try_long();
    }
    if (try_now()) {
      return true;
    }
    const Wait wait(state_);
    return try_long();
  }

  KYMO_SKIP
  bool note(bool is_taken, const char* file, const char* function, std::uint32_t line) noexcept {
    if (is_taken && detail::scopes_on()) {
      kymo_lock_taken_v1(&state_, file, function, line);
    } else if (is_taken) {
      note_taken_again();
    }
    return is_taken;
  }

  KYMO_SKIP
  bool note_shared(bool is_taken) noexcept {
    if (is_taken && detail::scopes_on()) {
      kymo_lock_shared_v1(&state_);
    }
    return is_taken;
  }

  KYMO_SKIP
  void note_taken_again() noexcept {
    if (state_.start != 0) {
      ++state_.depth;
    }
  }

  detail::LockState state_;
  Mutex mutex_;
};

}  // namespace kymo
