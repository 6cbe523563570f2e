// Frame time statistics.
#include <kymo/frame_stats.hpp>

#include <cmath>
#include <utility>

#include "capture/summary/histogram.hpp"

namespace kymo {

struct FrameStats::State {
  capture::Histogram histogram;
  // Of the frames so far, by Welford's recurrence: sums of squared nanoseconds would lose precision.
  double mean_ns = 0;
  double squares = 0;  // sum of squared deviations from the mean
};

FrameStats::FrameStats() : state_(std::make_unique<State>()) {}
FrameStats::FrameStats(const FrameStats& other) : state_(std::make_unique<State>(*other.state_)) {}
FrameStats::FrameStats(FrameStats&&) noexcept = default;
FrameStats& FrameStats::operator=(FrameStats other) noexcept {
  state_ = std::move(other.state_);
  return *this;
}
FrameStats::~FrameStats() = default;

void FrameStats::add(std::int64_t duration_ns) {
  State& state = *state_;
  state.histogram.record(duration_ns);
  const double value = duration_ns < 0 ? 0.0 : static_cast<double>(duration_ns);
  const double off = value - state.mean_ns;
  state.mean_ns += off / static_cast<double>(state.histogram.count());
  state.squares += off * (value - state.mean_ns);
}

void FrameStats::merge(const FrameStats& other) {
  State& state = *state_;
  const auto count = static_cast<double>(state.histogram.count());
  const auto more = static_cast<double>(other.state_->histogram.count());
  if (more == 0) {
    return;
  }
  const double off = other.state_->mean_ns - state.mean_ns;
  state.squares += other.state_->squares + off * off * count * more / (count + more);
  state.mean_ns += off * more / (count + more);
  state.histogram.merge(other.state_->histogram);
}

FrameStats FrameStats::of(const Timeline& timeline, FrameStreamId stream, TimeRange range) {
  FrameStats stats;
  for (const Frame& frame : timeline.frames(stream, range)) {
    stats.add(frame.duration_ns);
  }
  return stats;
}

std::uint64_t FrameStats::count() const {
  return state_->histogram.count();
}
std::int64_t FrameStats::min_ns() const {
  return state_->histogram.min_ns();
}
std::int64_t FrameStats::max_ns() const {
  return state_->histogram.max_ns();
}
std::int64_t FrameStats::percentile_ns(double percentile) const {
  return state_->histogram.percentile_ns(percentile);
}

LatencyStats FrameStats::stats_ms() const {
  constexpr double ms = 1e6;
  LatencyStats stats;
  stats.n = static_cast<std::size_t>(count());
  if (stats.n != 0) {
    stats.p50 = static_cast<double>(percentile_ns(50)) / ms;
    stats.p95 = static_cast<double>(percentile_ns(95)) / ms;
    stats.p99 = static_cast<double>(percentile_ns(99)) / ms;
    stats.mean = state_->histogram.mean_ns() / ms;
    stats.std = std::sqrt(state_->squares / static_cast<double>(stats.n)) / ms;
  }
  return stats;
}

}  // namespace kymo
