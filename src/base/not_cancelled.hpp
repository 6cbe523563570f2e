// Cancellation of threads, put off.
#pragma once

#include <pthread.h>

namespace kymo::base {

/// Puts off the cancellation of the calling thread: it would unwind calls that promise to throw nothing, and end the
/// program. Async-signal-safe; a few nanoseconds.
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
