// The clock of macOS: mach_absolute_time(). It stops while the machine sleeps, like CLOCK_MONOTONIC on Linux. macOS's
// own CLOCK_MONOTONIC continues during sleep and has microsecond resolution.
#pragma once

#include <cstdint>
#include <ctime>

#include <mach/mach_time.h>

#include <kymo/export.hpp>

namespace kymo::detail {

/// Nanoseconds of the clock used for event times. Thread-safe and async-signal-safe; a function call without a system
/// call.
KYMO_SKIP
inline std::uint64_t monotonic_ns() noexcept {
  return ::clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

/// The same clock in its own steps: 125/3 ns on arm64, 1 ns on x86-64. Not the processor's raw counter, which continues
/// while the machine sleeps. Thread-safe and async-signal-safe; a function call without a system call.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return ::mach_absolute_time();
}

}  // namespace kymo::detail
