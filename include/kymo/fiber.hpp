// Fibers: what runs on one thread and then on another, as the tasks of a scheduler and coroutines do.
//
// A fiber is a track of its own. Between fiber_enter and fiber_leave, what the calling thread records goes to it; a
// scope that was opened on it may be closed on it by another thread later.
#pragma once

#include <cstddef>
#include <string_view>

#include <kymo/kymo.h>
#include <kymo/export.hpp>

namespace kymo {

/// A fiber. Its track begins with the first event and ends with the object; scopes that are open then are closed by
/// force. One that has recorded holds a chunk of the pool (64 KiB) while it lives, so a scheduler of many short tasks
/// keeps a fiber for each task that can be under way, and uses it for one after the other. May be destroyed anywhere,
/// while a thread is in it as well: it then ends when that thread leaves it. Usable from any thread.
class Fiber {
 public:
  /// The name is copied and cut at 256 bytes. Names need not differ.
  KYMO_SKIP
  explicit Fiber(std::string_view name) noexcept : fiber_(kymo_fiber_create(name.data(), name.size())) {}
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

  /// For the C interface; the fiber stays the object's.
  [[nodiscard]] KYMO_SKIP
  kymo_fiber* get() const noexcept { return fiber_; }

 private:
  kymo_fiber* fiber_;
};

/// The calling thread goes on as the fiber. Where scopes are recorded, its own track shows a scope named after the
/// fiber until fiber_leave. A thread has to leave a fiber before another one enters it; what it recorded is then seen
/// by that one without further synchronisation.
///
/// False when another thread is in it: what the caller records until fiber_leave is dropped and counted. A thread that
/// is in a fiber already leaves that first. Both are said once. fiber_enter and fiber_leave together cost
/// a scope and about 25 ns, and 20 ns while nothing is recorded.
KYMO_SKIP
inline bool fiber_enter(const Fiber& fiber) noexcept {
  return kymo_fiber_enter(fiber.get()) != 0;
}

/// The calling thread is itself again: what it had open before fiber_enter still is. Nothing, said once, where it is in
/// no fiber.
KYMO_SKIP
inline void fiber_leave() noexcept {
  kymo_fiber_leave();
}

/// In a fiber for the length of a block. Must not span a co_await: the block would end on another thread.
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
