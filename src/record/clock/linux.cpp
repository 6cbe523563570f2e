// The processor's counter on Linux: one set of functions per architecture.
#include "record/clock/counter.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/system/file.hpp"
#include "record/clock/clock.hpp"

namespace kymo::record {

namespace {

// Measures the counter's rate against CLOCK_MONOTONIC, over 1 ms at least.
[[maybe_unused]] double measured_step_ns(const ClockPair& first) {
  constexpr std::int64_t stretch_ns = 1'000'000;
  ClockPair last = read_clock_pair();
  while (last.monotonic_ns - first.monotonic_ns < stretch_ns) {
    last = read_clock_pair();
  }
  if (last.counter <= first.counter) {  // the machine was moved meanwhile; the clock map finds the rate by itself
    return 1.0;
  }
  return static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
         static_cast<double>(last.counter - first.counter);
}

}  // namespace

#if defined(__x86_64__)

const char* const hardware_counter_name = "tsc";

// Reads the counter in order: neither before the preceding reads nor after the following ones.
std::uint64_t read_counter_in_order() noexcept {
  __builtin_ia32_lfence();
  const std::uint64_t count = read_counter();
  __builtin_ia32_lfence();
  return count;
}

bool processor_counter_is_invariant() noexcept {
  constexpr unsigned power_management_leaf = 0x80000007U;
  constexpr unsigned invariant_tsc_bit = 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(power_management_leaf, &eax, &ebx, &ecx, &edx) != 0 && ((edx >> invariant_tsc_bit) & 1U) != 0;
}

namespace {

bool has_word(std::string_view text, std::string_view word) {
  constexpr std::string_view blanks = " \t\n";
  for (;;) {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) {
      return false;
    }
    text.remove_prefix(begin);
    const std::size_t size = std::min(text.find_first_of(blanks), text.size());
    if (text.substr(0, size) == word) {
      return true;
    }
    text.remove_prefix(size);
  }
}

}  // namespace

bool kernel_lists_counter(std::string_view root) {
  const std::string folder = std::string(root) + "/sys/devices/system/clocksource/clocksource0/";
  return has_word(base::read_small_file(folder + "current_clocksource"), "tsc") ||
         has_word(base::read_small_file(folder + "available_clocksource"), "tsc");
}

// Not every model reports its counter's rate, so it is measured with CLOCK_MONOTONIC.
double hardware_step_ns(const ClockPair& earlier) {
  return measured_step_ns(earlier);
}

#elif defined(__aarch64__)

const char* const hardware_counter_name = "cntvct";

// Reads the counter in order: neither before the preceding reads nor after the following ones.
std::uint64_t read_counter_in_order() noexcept {
  __asm__ volatile("isb" ::: "memory");
  const std::uint64_t count = read_counter();
  __asm__ volatile("isb" ::: "memory");
  return count;
}

bool processor_counter_is_invariant() noexcept {
  return true;
}

// The generic timer is part of the architecture, and Linux boots only if all processors count alike. On a faulty
// processor the kernel traps these reads and answers them itself. So nothing needs to be checked. The kernel's list of
// clock sources would not help: in an emulator it is the host's.
bool kernel_lists_counter(std::string_view) {
  return true;
}

double hardware_step_ns(const ClockPair& earlier) {
  std::uint64_t frequency_hz = 0;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency_hz));
  const double step_ns = step_of_frequency_ns(frequency_hz);
  return step_ns != 0 ? step_ns : measured_step_ns(earlier);
}

#else

const char* const hardware_counter_name = "clock_monotonic";

std::uint64_t read_counter_in_order() noexcept {
  return read_counter();
}
bool processor_counter_is_invariant() noexcept {
  return false;
}
bool kernel_lists_counter(std::string_view) {
  return false;
}
double hardware_step_ns(const ClockPair&) {
  return 1.0;
}

#endif

}  // namespace kymo::record
