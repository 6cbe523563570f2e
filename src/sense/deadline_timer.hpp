// Sleeping until one deadline after another, with the timer of the next one set ahead.
#pragma once

#include <array>
#include <cstdint>

#include "base/file.hpp"
#include "sense/stop_signal.hpp"

namespace kymo::sense {

/// Two timers of the kernel that take turns. While a thread works at one deadline the timer of the next is already
/// running, and the one it starts then is later than that: the processor's timer stays as the interrupt left it. In a
/// virtual machine each change of it leaves the machine, which costs a sixth of a wake-up and more.
class DeadlineTimer {
 public:
  /// Before the sleeping thread starts. Where there are no timers of this kind the signal's own sleep does.
  void open() noexcept;
  /// After it has ended.
  void close() noexcept;

  /// Sleeps until CLOCK_MONOTONIC says `deadline_ns`; the deadline behind it will be `following_ns`. False when the
  /// signal was raised.
  [[nodiscard]] bool sleep_until(StopSignal& stop, std::int64_t deadline_ns, std::int64_t following_ns) noexcept;

  /// Ends a sleep, once the signal is raised. From another thread, between open() and close().
  void interrupt() noexcept;

 private:
  struct Timer {
    base::FileDescriptor file;
    std::int64_t deadline_ns = 0;  // of the sleeping thread; 0: it is not running
  };

  /// The timer that runs until a deadline, started where none does, and not the other one; nullptr: there are no
  /// timers.
  Timer* start(std::int64_t deadline_ns, const Timer* other) noexcept;

  std::array<Timer, 2> timers_;
  bool has_timers_ = false;
};

}  // namespace kymo::sense
