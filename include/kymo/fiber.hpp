// Fibers: work that moves between threads, such as scheduler tasks and coroutines.
//
// A fiber has its own track. Between fiber_enter and fiber_leave, everything that the calling thread records goes to
// that track. A scope opened in a fiber may be closed by another thread later.
#pragma once

#include <cstddef>

#include <kymo/kymo.h>
#include <kymo/export.hpp>
#include <kymo/text.hpp>

namespace kymo {

/// A fiber. Its track begins with its first event and ends when the object is destroyed; scopes still open are then
/// closed by force. A fiber that has recorded holds a pool chunk for its lifetime: 2 KiB, or 64 KiB once it records
/// much. A scheduler of many short tasks therefore keeps one fiber per concurrent task and reuses it. A fiber may be
/// destroyed on any thread, even while a thread is in it: it then ends when that thread leaves it. Thread-safe.
class Fiber {
 public:
  /// The name is copied and cut at 256 bytes. Names need not be unique.
  KYMO_SKIP
  explicit Fiber(Text name) noexcept : fiber_(kymo_fiber_create(name.data(), name.size())) {}
  KYMO_SKIP
  Fiber(Fiber&& other) noexcept : fiber_(other.fiber_) { other.fiber_ = nullptr; }
  KYMO_SKIP
  Fiber& operator=(Fiber&& other) noexcept {
    kymo_fiber* const taken = other.fiber_;
    other.fiber_ = nullptr;
    kymo_fiber_destroy(fiber_);
    fiber_ = taken;
    return *this;
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  KYMO_SKIP
  ~Fiber() { kymo_fiber_destroy(fiber_); }

  /// For the C interface; the object keeps ownership.
  [[nodiscard]] KYMO_SKIP
  kymo_fiber* get() const noexcept { return fiber_; }

 private:
  kymo_fiber* fiber_;
};

/// Switches the calling thread to the fiber. If scopes are recorded, the thread's own track shows a scope named after
/// the fiber until fiber_leave. A thread must leave a fiber before another one enters it. The next thread then sees
/// everything the previous one recorded, without further synchronisation.
///
/// Returns false if another thread is in the fiber: everything that the caller records until fiber_leave is dropped and
/// counted. A thread that is already in a fiber leaves that one first. kymo warns once for each of these cases.
/// fiber_enter and fiber_leave together cost a scope plus about 25 ns, and 20 ns while nothing is recorded.
KYMO_SKIP
inline bool fiber_enter(const Fiber& fiber) noexcept {
  return kymo_fiber_enter(fiber.get()) != 0;
}

/// Switches the calling thread back to its own track, where the scopes opened before fiber_enter are still open. Has no
/// effect, apart from one warning, if the thread is in no fiber.
KYMO_SKIP
inline void fiber_leave() noexcept {
  kymo_fiber_leave();
}

/// Enters a fiber for the length of a block. Must not span a co_await: the block would end on another thread.
class FiberGuard {
 public:
  KYMO_SKIP
  explicit FiberGuard(const Fiber& fiber) noexcept { fiber_enter(fiber); }
  FiberGuard(const FiberGuard&) = delete;
  FiberGuard& operator=(const FiberGuard&) = delete;
  KYMO_SKIP
  ~FiberGuard() { fiber_leave(); }
};

}  // namespace kymo
