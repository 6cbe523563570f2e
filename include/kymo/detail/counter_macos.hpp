// The clock of macOS: mach_absolute_time(), which stands still while the machine sleeps, as CLOCK_MONOTONIC does on
// Linux. macOS's own CLOCK_MONOTONIC goes on meanwhile and moves in microseconds.
#pragma once

#include <cstdint>
#include <ctime>

#include <mach/mach_time.h>

#include <kymo/export.hpp>

namespace kymo::detail {

/// Nanoseconds of the clock that events are stamped with. Thread safe, safe in signal handlers; a call without a system
/// call.
KYMO_SKIP
inline std::uint64_t monotonic_ns() noexcept {
  return ::clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

/// The same clock in its own steps: 125/3 ns on arm64, 1 ns on x86-64. Not the processor's counter as it is, which goes
/// on while the machine sleeps. Thread safe, safe in signal handlers; a call without a system call.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return ::mach_absolute_time();
}

}  // namespace kymo::detail
