#include "sense/deadline_timer.hpp"

#include <sys/timerfd.h>
#include <unistd.h>
#include <cerrno>
#include <ctime>

namespace kymo::sense {

namespace {

bool set_timer(int file, int flags, std::int64_t time_ns) noexcept {
  constexpr std::int64_t second_ns = 1'000'000'000;
  const itimerspec once{{0, 0}, {static_cast<time_t>(time_ns / second_ns), time_ns % second_ns}};
  return ::timerfd_settime(file, flags, &once, nullptr) == 0;
}

}  // namespace

void DeadlineTimer::open() noexcept {
  for (Timer& timer : timers_) {
    timer = {base::FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)), 0};
  }
  has_timers_ = true;
}

void DeadlineTimer::close() noexcept {
  timers_ = {};
}

bool DeadlineTimer::sleep_until(StopSignal& stop, std::int64_t deadline_ns, std::int64_t following_ns) noexcept {
  while (monotonic_now_ns() < deadline_ns) {
    Timer* const timer = has_timers_ ? start(deadline_ns, nullptr) : nullptr;
    if (timer == nullptr || start(following_ns, timer) == nullptr) {
      return stop.sleep_until(deadline_ns);
    }
    // A timer that was set after interrupt() came is not waited for.
    if (stop.is_raised()) {
      return false;
    }
    std::uint64_t expirations = 0;
    if (::read(timer->file.get(), &expirations, sizeof expirations) > 0) {
      timer->deadline_ns = 0;
    } else {
      has_timers_ = errno == EINTR;
    }
  }
  return !stop.is_raised();
}

DeadlineTimer::Timer* DeadlineTimer::start(std::int64_t deadline_ns, const Timer* other) noexcept {
  Timer* idle = nullptr;
  for (Timer& timer : timers_) {
    if (&timer == other) {
      continue;
    }
    if (timer.deadline_ns == deadline_ns) {
      return &timer;
    }
    idle = idle == nullptr || timer.deadline_ns == 0 ? &timer : idle;
  }
  // A program that closes all descriptors there are closes these as well.
  has_timers_ = set_timer(idle->file.get(), TFD_TIMER_ABSTIME, deadline_ns);
  idle->deadline_ns = deadline_ns;
  return has_timers_ ? idle : nullptr;
}

void DeadlineTimer::interrupt() noexcept {
  for (const Timer& timer : timers_) {
    set_timer(timer.file.get(), 0, 1);
  }
}

}  // namespace kymo::sense
