// Maps a stretch of time to pixels.
#include "panel/layout/time_axis.hpp"

#include <algorithm>
#include <cmath>

#include "panel/data/time_math.hpp"

namespace kymo::panel {

namespace {

constexpr std::int64_t latest_ns = TimeAxis::latest_ns;

std::int64_t to_length(double length_ns) {
  return static_cast<std::int64_t>(
      std::clamp(length_ns, -static_cast<double>(latest_ns), static_cast<double>(latest_ns)));
}

}  // namespace

void TimeAxis::set_bounds(TimeRange data, const std::optional<TimeRange>& room) {
  data_.start_ns = cut(data.start_ns);
  data_.end_ns = std::max(cut(data.end_ns), data_.start_ns + least_length_ns);
  bounds_ = data_;
  if (room) {
    bounds_.start_ns = std::min(bounds_.start_ns, cut(room->start_ns));
    bounds_.end_ns = std::max(bounds_.end_ns, cut(room->end_ns));
  }
  if (shows_all_) {
    fit();
  } else {
    show(range_);
  }
}

void TimeAxis::show(TimeRange range) {
  const std::int64_t start = cut(range.start_ns);
  const std::int64_t whole = bounds_.end_ns - bounds_.start_ns;
  const std::int64_t length = std::clamp(cut(range.end_ns) - start, least_length_ns, whole);
  range_.start_ns = std::clamp(start, bounds_.start_ns, bounds_.end_ns - length);
  range_.end_ns = range_.start_ns + length;
  shows_all_ = length == whole;
  scale();
}

void TimeAxis::fit() {
  range_ = bounds_;
  shows_all_ = true;
  scale();
}

void TimeAxis::zoom(double factor, double pixel) {
  if (!(factor > 0) || !std::isfinite(factor)) {
    return;
  }
  const double share = std::clamp(pixel / width_, 0.0, 1.0);
  const double length = static_cast<double>(length_ns());
  const double whole = static_cast<double>(bounds_.end_ns - bounds_.start_ns);
  const double wanted = std::clamp(length * factor, static_cast<double>(least_length_ns), whole);
  const std::int64_t start = range_.start_ns + to_length((length - wanted) * share);
  show({start, start + to_length(std::round(wanted))});
}

void TimeAxis::pan(double pixels) {
  const std::int64_t shift = to_length(std::round(pixels * ns_per_pixel()));
  const std::int64_t length = length_ns();
  const std::int64_t start = std::clamp(range_.start_ns - shift, bounds_.start_ns, bounds_.end_ns - length);
  show({start, start + length});
}

std::int64_t TimeAxis::to_time(double pixel) const {
  return cut(range_.start_ns + to_length(pixel * ns_per_pixel()));
}

std::int64_t tick_distance_ns(std::int64_t length_ns, double most_ticks) {
  const double least = static_cast<double>(length_ns) / std::max(most_ticks, 1.0);
  std::int64_t power = 1;
  while (power < latest_ns / 10 && static_cast<double>(power) * 5 < least) {
    power *= 10;
  }
  for (const std::int64_t factor : {std::int64_t{1}, std::int64_t{2}, std::int64_t{5}}) {
    if (static_cast<double>(power * factor) >= least) {
      return power * factor;
    }
  }
  return power * 10;
}

std::int64_t roomy_tick_distance_ns(const TimeAxis& axis, double least_pixels,
                                    const std::function<double(std::int64_t, std::int64_t)>& width_of) {
  const std::int64_t last_ns = length_between(axis.data().start_ns, axis.range().end_ns);
  double room = least_pixels;
  std::int64_t distance_ns = 0;
  // Ticks that are further apart have no longer texts.
  for (int tries = 0; tries < 8; ++tries) {
    distance_ns = tick_distance_ns(axis.length_ns(), axis.width() / room);
    const double needed = width_of(last_ns / distance_ns * distance_ns, distance_ns);
    if (needed <= static_cast<double>(distance_ns) / axis.ns_per_pixel()) {
      break;
    }
    room = std::max(needed, room);
  }
  return distance_ns;
}

}  // namespace kymo::panel
