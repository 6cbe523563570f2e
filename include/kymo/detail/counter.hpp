// The machine's time counter, read the cheapest way there is: what a scope's open and close cost is mostly this.
#pragma once

#if defined(__EMSCRIPTEN__)

#include <kymo/detail/counter_emscripten.hpp>

#elif defined(__APPLE__)

#include <kymo/detail/counter_macos.hpp>

#else

#include <cstdint>
#include <ctime>

#include <kymo/export.hpp>

namespace kymo::detail {

/// CLOCK_MONOTONIC in nanoseconds. Thread safe, safe in signal handlers; about 25 ns where the kernel maps its clock.
KYMO_SKIP
inline std::uint64_t monotonic_ns() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)

/// The processor's counter, in its own steps. It is not ordered against the instructions around it: a fence would cost
/// more than the read. Only meaningful where record::counter_in_use(); elsewhere monotonic_ns() stands in for it.
/// Thread safe, safe in signal handlers; about 9 ns.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return __builtin_ia32_rdtsc();
}

#elif defined(__aarch64__)

/// The processor's virtual counter, in its own steps. It is not ordered against the instructions around it: a barrier
/// would cost more than the read. Thread safe, safe in signal handlers; a few ns.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  std::uint64_t count = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
}

#else

/// CLOCK_MONOTONIC: no counter of this processor is known. Thread safe, safe in signal handlers.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return monotonic_ns();
}

#endif

}  // namespace kymo::detail

#endif
