// WebAssembly has a single clock, used both as counter and as CLOCK_MONOTONIC. It advances in coarse steps.
#include "record/clock/clock.hpp"

#include <algorithm>
#include <ctime>

namespace kymo::record {
namespace {

/// The least difference between two distinct readings. Gives up after a while: browsers round to at most 100 ms.
double find_clock_step_ns() {
  constexpr int wanted_changes = 3;
  constexpr int most_reads = 200'000;
  constexpr double coarsest_ms = 100;
  double least_ms = coarsest_ms;
  double last_ms = emscripten_get_now();
  const double first_ms = last_ms;
  int changes = 0;
  for (int i = 0; i < most_reads && changes <= wanted_changes && last_ms - first_ms < coarsest_ms; ++i) {
    const double now_ms = emscripten_get_now();
    if (now_ms > last_ms) {
      // The first change shows the end of a step, not its length.
      least_ms = changes > 0 ? std::min(least_ms, now_ms - last_ms) : least_ms;
      ++changes;
    }
    last_ms = now_ms;
  }
  return least_ms * 1e6;
}

}  // namespace

bool kernel_trusts_counter(std::string_view /*root*/) {
  return true;
}

bool counter_in_use() {
  return true;
}

ClockPair read_clock_pair() {
  const std::uint64_t now_ns = monotonic_ns();
  return {now_ns, static_cast<std::int64_t>(now_ns), 0};
}

ClockAnchor read_clock_anchor() {
  // The wall clock is in milliseconds, rounded down.
  constexpr std::int64_t wall_step_ns = 1'000'000;
  const auto before_ns = static_cast<std::int64_t>(monotonic_ns());
  std::timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const auto after_ns = static_cast<std::int64_t>(monotonic_ns());
  const auto clock_step = static_cast<std::int64_t>(clock_step_ns());
  return {before_ns + (after_ns - before_ns) / 2, static_cast<std::int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec,
          after_ns - before_ns + clock_step + wall_step_ns};
}

void begin_counter_step() {}

double counter_step_ns() {
  return 1.0;
}

double clock_step_ns() {
  static const double step_ns = find_clock_step_ns();
  return step_ns;
}

const char* counter_name() {
  return "performance.now";
}

}  // namespace kymo::record
