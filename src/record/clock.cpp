// Bracketed reads of the clocks, and what is known about this machine's counter. What differs by processor stands in
// the first part, one set of functions each.
#include "record/clock.hpp"

#include <algorithm>
#include <limits>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/file.hpp"

namespace kymo::record {
namespace {

// What CLOCK_MONOTONIC says of the counter's rate. Takes 2 ms.
[[maybe_unused]] double measured_step_ns() {
  constexpr std::int64_t stretch_ns = 2'000'000;
  const ClockPair first = read_clock_pair();
  ClockPair last = first;
  while (last.monotonic_ns - first.monotonic_ns < stretch_ns) {
    last = read_clock_pair();
  }
  if (last.counter <= first.counter) {  // the machine was moved under us; the clock map finds the rate by itself
    return 1.0;
  }
  return static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
         static_cast<double>(last.counter - first.counter);
}

#if defined(__x86_64__)

constexpr const char* hardware_counter_name = "tsc";

// A counter read that neither moves above the reads before it nor below those after it.
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

bool kernel_lists_counter(std::string_view root) {
  const std::string folder = std::string(root) + "/sys/devices/system/clocksource/clocksource0/";
  return has_word(base::read_small_file(folder + "current_clocksource"), "tsc") ||
         has_word(base::read_small_file(folder + "available_clocksource"), "tsc");
}

// The processor does not tell its counter's rate on every model: CLOCK_MONOTONIC has to.
double hardware_step_ns() {
  return measured_step_ns();
}

#elif defined(__aarch64__)

constexpr const char* hardware_counter_name = "cntvct";

// A counter read that neither moves above the reads before it nor below those after it.
std::uint64_t read_counter_in_order() noexcept {
  __asm__ volatile("isb" ::: "memory");
  const std::uint64_t count = read_counter();
  __asm__ volatile("isb" ::: "memory");
  return count;
}

bool processor_counter_is_invariant() noexcept {
  return true;
}

// The generic timer is a part of the architecture, and Linux boots only where all processors count alike. Where one of
// them has a flaw the kernel traps these reads and answers them itself. So there is nothing to ask; what it lists as
// clock sources would be the host's where an emulator runs the program.
bool kernel_lists_counter(std::string_view) {
  return true;
}

double hardware_step_ns() {
  std::uint64_t frequency_hz = 0;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency_hz));
  const double step_ns = step_of_frequency_ns(frequency_hz);
  return step_ns != 0 ? step_ns : measured_step_ns();
}

#else

constexpr const char* hardware_counter_name = "clock_monotonic";

std::uint64_t read_counter_in_order() noexcept {
  return read_counter();
}
bool processor_counter_is_invariant() noexcept {
  return false;
}
bool kernel_lists_counter(std::string_view) {
  return false;
}
double hardware_step_ns() {
  return 1.0;
}

#endif

constexpr int tries = 5;

std::int64_t read_ns(clockid_t clock) noexcept {
  std::timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(now.tv_nsec);
}

}  // namespace

double step_of_frequency_ns(std::uint64_t frequency_hz) noexcept {
  constexpr std::uint64_t slowest_hz = 100'000;
  constexpr std::uint64_t fastest_hz = 10'000'000'000;
  return frequency_hz >= slowest_hz && frequency_hz <= fastest_hz ? 1e9 / static_cast<double>(frequency_hz) : 0;
}

bool counter_is_invariant() noexcept {
  return processor_counter_is_invariant();
}

bool kernel_trusts_counter(std::string_view root) {
  return processor_counter_is_invariant() && kernel_lists_counter(root);
}

bool counter_in_use() {
  static const bool in_use = kernel_trusts_counter();
  return in_use;
}

ClockPair read_clock_pair() {
  if (!counter_in_use()) {
    const std::uint64_t now_ns = monotonic_ns();
    return {now_ns, static_cast<std::int64_t>(now_ns), 0};
  }
  ClockPair tightest;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t before = read_counter_in_order();
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t after = read_counter_in_order();
    // Counters of two processors that are not quite in step can seem to run backwards; such a try says nothing about
    // its width and loses to every other.
    const std::uint64_t width = after >= before ? after - before : std::numeric_limits<std::uint64_t>::max();
    if (i == 0 || width < least) {
      least = width;
      tightest.counter = after >= before ? before + width / 2 : after;
      tightest.monotonic_ns = static_cast<std::int64_t>(now_ns);
    }
  }
  constexpr std::uint64_t widest = std::numeric_limits<std::uint32_t>::max();
  tightest.bracket = static_cast<std::uint32_t>(std::min(least, widest));
  return tightest;
}

ClockAnchor read_clock_anchor() {
  ClockAnchor tightest;
  for (int i = 0; i < tries; ++i) {
    const std::int64_t before_ns = read_ns(CLOCK_MONOTONIC);
    const std::int64_t realtime_ns = read_ns(CLOCK_REALTIME);
    const std::int64_t after_ns = read_ns(CLOCK_MONOTONIC);
    if (i == 0 || after_ns - before_ns < tightest.bound_ns) {
      tightest = {before_ns + (after_ns - before_ns) / 2, realtime_ns, after_ns - before_ns};
    }
  }
  return tightest;
}

double counter_step_ns() {
  static const double step_ns = counter_in_use() ? hardware_step_ns() : 1.0;
  return step_ns;
}

double clock_step_ns() {
  return counter_step_ns();
}

const char* counter_name() {
  return counter_in_use() ? hardware_counter_name : "clock_monotonic";
}

}  // namespace kymo::record
