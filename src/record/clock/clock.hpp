// Reads the clocks: the counter that stamps events, CLOCK_MONOTONIC for captures, and the wall clock that aligns
// captures of different hosts. clock_map.hpp converts counts to nanoseconds.
#pragma once

#include <cstdint>
#include <string_view>

#include <kymo/detail/counter.hpp>
#include <kymo/events.hpp>

namespace kymo::record {

using detail::monotonic_ns;
using detail::read_counter;

/// The counter and CLOCK_MONOTONIC at one moment. Plain bytes, so that the spool can hold it.
struct ClockPair {
  std::uint64_t counter = 0;  ///< the middle between the two counter reads around the clock read
  std::int64_t monotonic_ns = 0;
  std::uint32_t bracket = 0;  ///< counts between those two reads; the pair's error is at most half of it
};

/// Whether the kernel trusts the counter of read_counter() for timekeeping.
///
/// - x86: "tsc" is the current or an available clock source (the kernel hides it once it found it unstable), and cpuid
///   reports it as invariant.
/// - aarch64: always. The counter is part of the architecture, and the kernel corrects its reads on faulty processors.
///
/// `root` is the directory that holds sys/. Unreadable files mean no.
[[nodiscard]] bool kernel_trusts_counter(std::string_view root = "/");

/// Nanoseconds per count for a frequency read from a register. 0 if the frequency is implausible: firmware that forgot
/// to set it leaves zero or garbage.
[[nodiscard]] double step_of_frequency_ns(std::uint64_t frequency_hz) noexcept;

/// Whether this process stamps events with read_counter() (true) or monotonic_ns() (false). The first call runs
/// kernel_trusts_counter(), later ones cost a load. Thread-safe.
[[nodiscard]] bool counter_in_use();

/// The timestamp of an event at this moment.
[[nodiscard]] inline std::uint64_t event_time() noexcept {
  return counter_in_use() ? read_counter() : monotonic_ns();
}

/// Reads the counter and CLOCK_MONOTONIC together; the tightest of a few tries. If the counter is not in use, both are
/// CLOCK_MONOTONIC. Thread-safe; about half a microsecond, a few if the thread is interrupted.
[[nodiscard]] ClockPair read_clock_pair();

/// Reads the wall clock between two reads of CLOCK_MONOTONIC; the tightest of a few tries. Thread-safe.
[[nodiscard]] ClockAnchor read_clock_anchor();

/// Starts the measurement of counter_step_ns(), so that its millisecond passes while the caller does something else.
/// Thread-safe; the first call costs some microseconds.
void begin_counter_step();

/// Nanoseconds per count, accurate to about 50 ppm; 1 if the counter is not in use. On x86 the first call waits until
/// 1 ms has passed since begin_counter_step(), as the processor does not report its rate; later calls cost a load.
/// Thread-safe.
[[nodiscard]] double counter_step_ns();

/// The least difference between two event times. Equals counter_step_ns() except in a browser, whose clock advances by
/// many nanoseconds at once: there the first call measures it, mostly in well under a millisecond.
[[nodiscard]] double clock_step_ns();

/// "tsc", "cntvct", "mach_absolute_time" on macOS, "performance.now" in WebAssembly, or "clock_monotonic" if the
/// counter is not in use.
[[nodiscard]] const char* counter_name();

}  // namespace kymo::record
