// Threads of kymo's own.
#pragma once

#include <memory>
#include <utility>

#include <pthread.h>

#include "base/system/unchecked.hpp"

namespace kymo::base {

/// A thread of kymo's own beside the program's, used like std::thread. It takes over nothing of the thread that starts
/// it: it handles no signal, has no real-time priority, no floating-point traps and no other rounding, and a stack for
/// kymo's needs and those of sinks, however small the program's stacks are.
class OwnThread {
 public:
  OwnThread() noexcept = default;
  /// Calls run() on a new thread. Throws std::system_error if there can be none.
  template <typename Run>
  explicit OwnThread(Run run) {
    auto held = std::make_unique<Run>(std::move(run));
    begin(
        [](void* given) -> void* {
          const std::unique_ptr<Run> taken(static_cast<Run*>(given));
          settle();
          const Unchecked unchecked;
          (*taken)();
          return nullptr;
        },
        held.get());
    static_cast<void>(held.release());
  }
  OwnThread(OwnThread&& other) noexcept
      : thread_(other.thread_), is_running_(std::exchange(other.is_running_, false)) {}
  OwnThread& operator=(OwnThread&& other) noexcept;
  /// It must have been joined.
  ~OwnThread();

  [[nodiscard]] bool joinable() const noexcept { return is_running_; }
  void join() noexcept;

 private:
  void begin(void* (*call)(void*), void* run);
  /// Leaves what the new thread inherited.
  static void settle() noexcept;

  pthread_t thread_{};
  bool is_running_ = false;
};

}  // namespace kymo::base
