// Reads the clocks: the counter that events are stamped with, CLOCK_MONOTONIC that captures speak, and the wall clock
// that aligns captures of different hosts. How counts become nanoseconds is in clock_map.hpp.
#pragma once

#include <cstdint>
#include <string_view>

#include <kymo/detail/counter.hpp>
#include <kymo/events.hpp>

namespace kymo::record {

using detail::monotonic_ns;
using detail::read_counter;

/// The counter and CLOCK_MONOTONIC at one moment. Plain bytes, so that it can stand in the spool.
struct ClockPair {
  std::uint64_t counter = 0;  ///< the middle between the two counter reads around the clock read
  std::int64_t monotonic_ns = 0;
  std::uint32_t bracket = 0;  ///< counts between those two reads; the pair is off by at most half of it
};

/// Whether the kernel keeps time with the counter that read_counter() reads, or would if it were told to. x86: "tsc" is
/// current or available as a clock source (the kernel hides it once it found it unstable) and cpuid says that it is
/// invariant; aarch64: always, since the counter is a part of the architecture and the kernel mends its reads where a
/// processor's are wrong. `root` is the directory that holds sys/. Unreadable files mean no.
[[nodiscard]] bool kernel_trusts_counter(std::string_view root = "/");

/// The step of a counter whose frequency a register states; 0 where that cannot be one: firmware that forgot to set it
/// leaves a zero or anything.
[[nodiscard]] double step_of_frequency_ns(std::uint64_t frequency_hz) noexcept;

/// Whether the processor says that its counter runs at one rate in every power state.
[[nodiscard]] bool counter_is_invariant() noexcept;

/// Whether events of this process are stamped with read_counter() (true) or with monotonic_ns() (false).
/// kernel_trusts_counter() on the first call, then a load. Thread safe.
[[nodiscard]] bool counter_in_use();

/// The time that an event of now is stamped with.
[[nodiscard]] inline std::uint64_t event_time() noexcept {
  return counter_in_use() ? read_counter() : monotonic_ns();
}

/// Reads the counter and CLOCK_MONOTONIC together, the tightest of a few tries. Where the counter is not in use, both
/// are CLOCK_MONOTONIC. Thread safe; about half a microsecond, a few where the thread is interrupted meanwhile.
[[nodiscard]] ClockPair read_clock_pair();

/// Reads the wall clock between two reads of CLOCK_MONOTONIC, the tightest of a few tries. Thread safe.
[[nodiscard]] ClockAnchor read_clock_anchor();

/// Nanoseconds a count, to about 50 millionths; 1 where the counter is not in use. The first call on x86 takes 2 ms,
/// because the processor does not say; later ones a load. Thread safe.
[[nodiscard]] double counter_step_ns();

/// The least difference between two times that events can have. As counter_step_ns(), but in a browser, whose clock
/// moves by many nanoseconds at once: measured there by the first call, in well under a millisecond in most.
[[nodiscard]] double clock_step_ns();

/// "tsc", "cntvct", "mach_absolute_time" on macOS, "performance.now" in WebAssembly, or "clock_monotonic" where the
/// counter is not in use.
[[nodiscard]] const char* counter_name();

}  // namespace kymo::record
