#include "base/system/own_thread.hpp"

#include <algorithm>
#include <cfenv>
#include <csignal>
#include <cstddef>
#include <exception>
#include <system_error>
#include <utility>

#include <sched.h>

namespace kymo::base {
namespace {

/// Compression alone takes 17 KB; a sink of the program's may take more.
constexpr std::size_t least_stack_bytes = std::size_t{1} << 20U;

/// What kymo does beside a program must not keep the program's real-time threads waiting. Real-time policies of other
/// systems than Linux are not inherited.
void leave_real_time() noexcept {
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

}  // namespace

OwnThread& OwnThread::operator=(OwnThread&& other) noexcept {
  if (is_running_) {
    std::terminate();
  }
  thread_ = other.thread_;
  is_running_ = std::exchange(other.is_running_, false);
  return *this;
}

OwnThread::~OwnThread() {
  if (is_running_) {
    std::terminate();
  }
}

void OwnThread::join() noexcept {
  ::pthread_join(thread_, nullptr);
  is_running_ = false;
}

void OwnThread::begin(void* (*call)(void*), void* run) {
  pthread_attr_t attributes;
  int error = ::pthread_attr_init(&attributes);
  if (error == 0) {
    std::size_t stack_bytes = 0;
    ::pthread_attr_getstacksize(&attributes, &stack_bytes);
    ::pthread_attr_setstacksize(&attributes, std::max(stack_bytes, least_stack_bytes));
    sigset_t all;
    sigset_t previous;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &previous);
    error = ::pthread_create(&thread_, &attributes, call, run);
    ::pthread_sigmask(SIG_SETMASK, &previous, nullptr);
    ::pthread_attr_destroy(&attributes);
  }
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), "no thread can be started");
  }
  is_running_ = true;
}

void OwnThread::settle() noexcept {
  std::fesetenv(FE_DFL_ENV);
  leave_real_time();
}

}  // namespace kymo::base
