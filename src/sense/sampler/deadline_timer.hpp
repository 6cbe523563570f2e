// How a tier's thread wakes on time: its timers, the next one set ahead, and its scheduling.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <kymo/sampler.hpp>

#include "base/system/file.hpp"
#include "sense/sampler/stop_signal.hpp"

namespace kymo::sense {

/// Two kernel timers that alternate. While a thread works at one deadline, the timer for the next one is already
/// running. The timer that the thread then starts is later, so the processor's timer keeps the value that the interrupt
/// set. In a virtual machine each change of that timer exits to the hypervisor, which costs a sixth of a wake-up or
/// more.
class DeadlineTimer {
 public:
  /// Call before the sleeping thread starts. Without timers of this kind the signal's own sleep is used.
  void open() noexcept;
  /// Call after the thread has ended.
  void close() noexcept;

  /// Sleeps until CLOCK_MONOTONIC reaches `deadline_ns` or somebody wakes it; the next deadline will be `following_ns`.
  /// Returns false if the signal was raised.
  [[nodiscard]] bool sleep_until(StopSignal& stop, std::int64_t deadline_ns, std::int64_t following_ns) noexcept;

  /// Ends a sleep, or the next one if the thread does not sleep. Call from another thread, between open() and close().
  /// Without timers of this kind it only ends a sleep whose signal was raised.
  void wake() noexcept;

 private:
  struct Timer {
    base::KnownFile file;
    std::int64_t deadline_ns = 0;  // of the sleeping thread; 0: not running
  };

  /// The timer for a deadline; starts one other than `other` if none is set for it. nullptr: there are no timers.
  Timer* start(std::int64_t deadline_ns, const Timer* other) noexcept;

  std::array<Timer, 2> timers_;
  std::atomic<bool> is_woken_{false};
  bool has_timers_ = false;
};

/// CPU numbers are below this; 0: threads cannot be bound to CPUs here.
[[nodiscard]] long cpu_limit() noexcept;

/// Makes the calling thread wake on time: before those of slower tiers if priorities are permitted, and as exactly as
/// the system can. Binds it to the given CPUs, if any; returns false if that fails.
[[nodiscard]] bool schedule_tier(Tier tier, const std::vector<int>& cpus) noexcept;

}  // namespace kymo::sense
