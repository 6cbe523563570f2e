// A time axis: which stretch of time is shown over how many pixels. Plain arithmetic.
#pragma once

#include <cstdint>

#include <kymo/timeline.hpp>

namespace kymo::panel {

/// The stretch of time that is shown. It lies within its bounds and is never longer than they are, nor shorter than
/// least_length_ns. Pixels count from the axis's left end.
class TimeAxis {
 public:
  static constexpr std::int64_t least_length_ns = 20;

  /// What there is to show. Times beyond +-2^61 are cut. An axis that shows everything goes on doing so.
  void set_bounds(TimeRange bounds);
  void set_width(double pixels) { width_ = pixels < 1 ? 1 : pixels; }

  [[nodiscard]] TimeRange bounds() const { return bounds_; }
  [[nodiscard]] TimeRange range() const { return range_; }
  [[nodiscard]] double width() const { return width_; }
  [[nodiscard]] std::int64_t length_ns() const { return range_.end_ns - range_.start_ns; }
  [[nodiscard]] double ns_per_pixel() const { return static_cast<double>(length_ns()) / width_; }
  [[nodiscard]] bool shows_all() const { return shows_all_; }

  /// Shows a range, moved and cut so that it keeps to the bounds.
  void show(TimeRange range);
  /// Shows everything between the bounds.
  void fit();
  /// Makes the range `factor` times as long; the time under the pixel stays under it as far as the bounds allow.
  void zoom(double factor, double pixel);
  /// Moves what is shown to the right by so many pixels (to earlier times), as a dragging pointer does.
  void pan(double pixels);

  /// Where a time stands; within +-1e9 of the axis, whatever the time.
  [[nodiscard]] double to_pixel(std::int64_t time_ns) const;
  [[nodiscard]] std::int64_t to_time(double pixel) const;

 private:
  TimeRange bounds_{0, least_length_ns};
  TimeRange range_{0, least_length_ns};
  double width_ = 1;
  bool shows_all_ = true;
};

/// The distance of two ticks of a ruler over such a length, with at most `most_ticks` of them: 1, 2 or 5 times a power
/// of ten nanoseconds.
[[nodiscard]] std::int64_t tick_distance_ns(std::int64_t length_ns, double most_ticks);

}  // namespace kymo::panel
