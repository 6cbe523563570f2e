// How threads of kymo's own are scheduled.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace kymo::base {

/// Takes the calling thread out of a real-time policy that it inherited from the thread that started it: what kymo does
/// beside a program must not keep the program's real-time threads waiting. Real-time policies of other systems than
/// Linux are not inherited.
inline void leave_real_time() noexcept {
#if defined(__linux__)
  sched_param inherited{};
  int policy = SCHED_OTHER;
  if (::pthread_getschedparam(::pthread_self(), &policy, &inherited) == 0 &&
      (policy == SCHED_FIFO || policy == SCHED_RR)) {
    const sched_param ordinary{};
    ::pthread_setschedparam(::pthread_self(), SCHED_OTHER, &ordinary);
  }
#endif
}

}  // namespace kymo::base
