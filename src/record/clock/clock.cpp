// Bracketed clock reads, and the properties of this machine's counter.
#include "record/clock/clock.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

#include "record/clock/counter.hpp"

namespace kymo::record {
namespace {

constexpr int tries = 5;
// Limit if the thread is interrupted, so that none of the first tries comes near the process's tightest bracket.
constexpr int most_tries = 40;
constexpr std::uint64_t loose_factor = 3;

/// The tightest bracket so far, in counts.
std::atomic<std::uint64_t> tightest_bracket{std::numeric_limits<std::uint64_t>::max()};

/// Whether a bracket is much wider than the tightest seen on this machine. Updates the tightest.
bool is_loose(std::uint64_t bracket) noexcept {
  const std::uint64_t tightest = tightest_bracket.load(std::memory_order_relaxed);
  if (bracket < tightest) {
    tightest_bracket.store(bracket, std::memory_order_relaxed);
  }
  // By more than one count: a slow counter's brackets are only a few counts wide.
  return bracket / loose_factor > tightest && bracket / loose_factor - tightest > 1;
}

std::int64_t read_wall_ns() noexcept {
  std::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(now.tv_nsec);
}

}  // namespace

double step_of_frequency_ns(std::uint64_t frequency_hz) noexcept {
  constexpr std::uint64_t slowest_hz = 100'000;
  constexpr std::uint64_t fastest_hz = 10'000'000'000;
  return frequency_hz >= slowest_hz && frequency_hz <= fastest_hz ? 1e9 / static_cast<double>(frequency_hz) : 0;
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
  for (int i = 0; i < tries || (i < most_tries && is_loose(least)); ++i) {
    const std::uint64_t before = read_counter_in_order();
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t after = read_counter_in_order();
    // If two processors' counters are slightly out of step, the difference can be negative. Its width is then unknown,
    // so the try loses to every other.
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
    const auto before_ns = static_cast<std::int64_t>(monotonic_ns());
    const std::int64_t realtime_ns = read_wall_ns();
    const auto after_ns = static_cast<std::int64_t>(monotonic_ns());
    if (i == 0 || after_ns - before_ns < tightest.bound_ns) {
      tightest = {before_ns + (after_ns - before_ns) / 2, realtime_ns, after_ns - before_ns};
    }
  }
  return tightest;
}

namespace {

const ClockPair& earliest_pair() {
  static const ClockPair pair = read_clock_pair();
  return pair;
}

}  // namespace

void begin_counter_step() {
  static_cast<void>(earliest_pair());
}

double counter_step_ns() {
  static const double step_ns = counter_in_use() ? hardware_step_ns(earliest_pair()) : 1.0;
  return step_ns;
}

double clock_step_ns() {
  return counter_step_ns();
}

const char* counter_name() {
  return counter_in_use() ? hardware_counter_name : "clock_monotonic";
}

}  // namespace kymo::record
