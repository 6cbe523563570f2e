// Deferred thread cancellation.
#pragma once

#include <pthread.h>

namespace kymo::base {

/// Defers cancellation of the calling thread. Cancellation would unwind through noexcept calls and end the program.
/// Async-signal-safe; a few nanoseconds.
class NotCancelled {
 public:
  NotCancelled() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &previous_); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;
  ~NotCancelled() { ::pthread_setcancelstate(previous_, nullptr); }

 private:
  int previous_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace kymo::base
