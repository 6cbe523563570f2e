// Tasks: coroutines that a scheduler's workers resume, each time on any worker.
#pragma once

#include <coroutine>
#include <exception>
#include <string>
#include <utility>

#include <kymo/kymo.hpp>

namespace coroutines {

/// A coroutine with its own fiber. Its scopes go to the fiber's track, whichever worker runs it.
class Task {
 public:
  struct promise_type {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };

  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (coroutine_) {
      coroutine_.destroy();
    }
  }

  /// Runs the task until it yields or ends. Returns false at its end. The caller is in the task's fiber during the
  /// call, and has left it before the task can be passed to another worker.
  bool resume(const kymo::Fiber& fiber) {
    const kymo::FiberGuard guard(fiber);
    coroutine_.resume();
    return !coroutine_.done();
  }

 private:
  std::coroutine_handle<promise_type> coroutine_;
};

/// co_await yield(): another worker may continue the task.
inline std::suspend_always yield() noexcept {
  return {};
}

}  // namespace coroutines
