#include "gpu/gpu_clock.hpp"

#include <algorithm>
#include <cmath>

namespace kymo::gpu {

namespace {

/// Greatest deviation of a clock from its nominal rate, and from the processor's clock while that is slewed.
constexpr double nominal_error = 5e-4;
/// Possible change of rates between pairs.
constexpr double rate_drift = 2e-6;
/// Two pairs at this distance determine the recent rate.
constexpr std::int64_t longest_base_ns = 16'000'000'000;
constexpr double furthest_ns = 1e18;

}  // namespace

GpuClock::GpuClock(const GpuClockFacts& facts) noexcept
    : nominal_ns_(facts.ns_per_tick),
      valid_bits_(std::clamp(facts.valid_bits, 1U, 64U)),
      rate_ns_(facts.ns_per_tick),
      rate_error_(nominal_error) {}

std::int64_t GpuClock::ticks_between(std::uint64_t from, std::uint64_t to) const noexcept {
  // The shorter direction: the difference's sign bit is the highest valid one.
  const unsigned unused = 64 - valid_bits_;
  return static_cast<std::int64_t>((to - from) << unused) >> unused;
}

bool GpuClock::may_have_wrapped(const GpuClockPair& pair) const noexcept {
  const double turn_ns = std::ldexp(nominal_ns_, static_cast<int>(valid_bits_));
  return static_cast<double>(pair.cpu_ns - latest_->pair.cpu_ns) > turn_ns / 4;
}

void GpuClock::restart(const GpuClockPair& pair) noexcept {
  base_ = middle_ = {pair, 0};
  latest_ = base_;
  rate_ns_ = nominal_ns_;
  rate_error_ = nominal_error;
}

void GpuClock::add(const GpuClockPair& pair) noexcept {
  if (!latest_ || may_have_wrapped(pair)) {
    restart(pair);
    return;
  }
  if (pair.cpu_ns <= latest_->pair.cpu_ns) {
    return;
  }
  const BoundedTime expected = time_of(pair.ticks);
  if (std::abs(expected.ns - pair.cpu_ns) > expected.bound_ns + pair.bound_ns) {
    restart(pair);
    return;
  }
  if (pair.bound_ns > expected.bound_ns) {
    return;
  }
  latest_ = CountedPair{pair, latest_->ticks + ticks_between(latest_->pair.ticks, pair.ticks)};
  tell_rate();
  if (pair.cpu_ns - middle_.pair.cpu_ns > longest_base_ns / 2) {
    base_ = middle_;
    middle_ = *latest_;
  }
}

void GpuClock::tell_rate() noexcept {
  const auto apart_ns = static_cast<double>(latest_->pair.cpu_ns - base_.pair.cpu_ns);
  const auto ticks = static_cast<double>(latest_->ticks - base_.ticks);
  const double error = static_cast<double>(latest_->pair.bound_ns + base_.pair.bound_ns) / apart_ns + rate_drift;
  const bool is_better = ticks > 0 && error < nominal_error;
  rate_ns_ = is_better ? apart_ns / ticks : nominal_ns_;
  rate_error_ = is_better ? error : nominal_error;
}

BoundedTime GpuClock::time_of(std::uint64_t ticks) const noexcept {
  const GpuClockPair& pair = latest_->pair;
  // Keeps garbage from a broken driver within the range of numbers.
  const double distance_ns =
      std::clamp(static_cast<double>(ticks_between(pair.ticks, ticks)) * rate_ns_, -furthest_ns, furthest_ns);
  return {pair.cpu_ns + std::llround(distance_ns),
          pair.bound_ns + static_cast<std::int64_t>(std::ceil(std::fabs(distance_ns) * rate_error_))};
}

std::int64_t GpuClock::duration_ns(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept {
  return std::llround(
      std::clamp(static_cast<double>(ticks_between(begin_ticks, end_ticks)) * rate_ns_, 0.0, furthest_ns));
}

}  // namespace kymo::gpu
