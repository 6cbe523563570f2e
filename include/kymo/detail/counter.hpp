// Reads the machine's time counter in the cheapest way. These reads make up most of a scope's cost.
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

/// CLOCK_MONOTONIC in nanoseconds. Thread-safe and async-signal-safe; about 25 ns if the kernel maps its clock (vDSO).
KYMO_SKIP
inline std::uint64_t monotonic_ns() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)

/// The processor's counter, in its own steps. The read is not ordered against neighbouring instructions: a fence would
/// cost more than the read. Only valid if record::counter_in_use(); otherwise monotonic_ns() is used instead.
/// Thread-safe and async-signal-safe; about 9 ns.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return __builtin_ia32_rdtsc();
}

#elif defined(__aarch64__)

/// The processor's virtual counter, in its own steps. The read is not ordered against neighbouring instructions: a
/// barrier would cost more than the read. Thread-safe and async-signal-safe; a few ns.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  std::uint64_t count = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
}

#else

/// CLOCK_MONOTONIC, since this processor has no supported counter. Thread-safe and async-signal-safe.
KYMO_SKIP
inline std::uint64_t read_counter() noexcept {
  return monotonic_ns();
}

#endif

}  // namespace kymo::detail

#endif

namespace kymo::detail {

/// A count in two halves, as a word holds it and as x86 processors give it.
struct CounterHalves {
  std::uint32_t low;
  std::uint32_t high;
};

/// read_counter(), without the instructions that put the halves together.
__attribute__((always_inline)) KYMO_SKIP
inline CounterHalves read_counter_halves() noexcept {
  CounterHalves count{};
#if defined(__x86_64__) && !defined(__APPLE__)
  __asm__ volatile("rdtsc" : "=a"(count.low), "=d"(count.high));
#else
  const std::uint64_t whole = read_counter();
  count.low = static_cast<std::uint32_t>(whole);
  count.high = static_cast<std::uint32_t>(whole >> 32U);
#endif
  return count;
}

}  // namespace kymo::detail
