// A time axis: maps a stretch of time to pixels. Pure arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include <kymo/timeline.hpp>

namespace kymo::panel {

/// The visible stretch of time. It lies within its bounds and is never longer than these or shorter than
/// least_length_ns. Pixels count from the axis's left end.
class TimeAxis {
 public:
  static constexpr std::int64_t least_length_ns = 20;
  /// Times are cut to +- this. Their sums and differences do not overflow.
  static constexpr std::int64_t latest_ns = std::int64_t{1} << 61;

  /// Sets the range of the data, and room around it if there is more to show. An axis that shows everything
  /// continues to do so.
  void set_bounds(TimeRange data, const std::optional<TimeRange>& room = std::nullopt);
  void set_width(double pixels) {
    width_ = pixels < 1 ? 1 : pixels;
    scale();
  }

  [[nodiscard]] TimeRange data() const { return data_; }
  /// The data and the room around it.
  [[nodiscard]] TimeRange bounds() const { return bounds_; }
  [[nodiscard]] TimeRange range() const { return range_; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] std::int64_t length_ns() const { return range_.end_ns - range_.start_ns; }
  [[nodiscard]] double ns_per_pixel() const { return static_cast<double>(length_ns()) / width_; }
  [[nodiscard]] bool shows_all() const { return shows_all_; }

  /// Shows a range, moved and cut to fit the bounds.
  void show(TimeRange range);
  /// Shows everything between the bounds.
  void fit();
  /// Scales the length of the range by `factor`. The time under the pixel stays in place as far as the bounds allow.
  void zoom(double factor, double pixel);
  /// Pans by that many pixels to the right (to earlier times), like dragging with the pointer.
  void pan(double pixels);

  /// The position of a time, limited to +-1e9 of the axis.
  [[nodiscard]] double to_pixel(std::int64_t time_ns) const {
    constexpr double farthest = 1e9;
    return std::clamp(static_cast<double>(cut(time_ns) - range_.start_ns) * pixels_per_ns_, -farthest, farthest);
  }
  [[nodiscard]] std::int64_t to_time(double pixel) const;

 private:
  void scale() { pixels_per_ns_ = width_ / static_cast<double>(length_ns()); }
  static std::int64_t cut(std::int64_t time_ns) { return std::clamp(time_ns, -latest_ns, latest_ns); }

  TimeRange data_{0, least_length_ns};
  TimeRange bounds_{0, least_length_ns};
  TimeRange range_{0, least_length_ns};
  double width_ = 1;
  double pixels_per_ns_ = 1.0 / least_length_ns;  ///< kept, since charts ask for thousands of positions
  bool shows_all_ = true;
};

/// The distance of ruler ticks over a length, with at most `most_ticks` of them: 1, 2 or 5 times a power of ten
/// nanoseconds.
[[nodiscard]] std::int64_t tick_distance_ns(std::int64_t length_ns, double most_ticks);

/// The distance of an axis's ticks, at least `least_pixels` and so that a tick's text has room up to the next one.
/// `width_of`: of the text of a tick, in pixels, for a distance of ticks.
[[nodiscard]] std::int64_t roomy_tick_distance_ns(
    const TimeAxis& axis, double least_pixels,
    const std::function<double(std::int64_t tick_ns, std::int64_t distance_ns)>& width_of);

}  // namespace kymo::panel
