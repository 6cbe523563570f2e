// Tasks of an event loop. Each is recorded on a track of its own, a fiber: its scopes stay open while it waits, and
// what other tasks do meanwhile is not in them.
#pragma once

#include "profiled.hpp"
#include "python.hpp"

namespace kymo::python {

/// A coroutine as an event loop drives it. task.cpp has its members.
struct Task;

/// The task that the calling thread runs; null: none.
struct RunningTask {
  Task* task;
  bool is_entered;  ///< the thread is in the task's fiber
  bool is_shown;    ///< it entered while scopes were recorded, so that the thread's own track shows this
};
extern thread_local RunningTask running_task __attribute__((tls_model("initial-exec")));

/// Enters the running task's fiber, anew where it is not shown: recording began after the task was resumed.
void enter_running_task();

/// Whether this thread's events belong to a task. Call before opening a scope, while scopes are on. About 1 ns.
inline bool is_in_task() {
  if (__builtin_expect(static_cast<long>(running_task.task == nullptr), 1) != 0) {
    return false;
  }
  if (!running_task.is_shown) {
    enter_running_task();
  }
  return running_task.is_entered;
}

/// A coroutine of a function with @kymo.profile: the scope around all of it, which its task opens instead. False for
/// other objects.
[[nodiscard]] bool take_profiled_site(PyObject* coroutine, ProfiledSite& place);

}  // namespace kymo::python
