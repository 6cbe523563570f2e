// The clocks that everything outside the recorder's hot path reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace kymo::base {

/// Nanoseconds on the clock of all recorded times: CLOCK_MONOTONIC, on macOS CLOCK_UPTIME_RAW. Async-signal-safe; about
/// 20 ns.
[[nodiscard]] inline std::int64_t monotonic_now_ns() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// CPU time of the calling thread. Async-signal-safe; about 200 ns.
[[nodiscard]] inline std::int64_t thread_cpu_ns() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace kymo::base
