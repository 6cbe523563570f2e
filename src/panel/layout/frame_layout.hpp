// The positions of frame bars. Draws nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "panel/data/panel_data.hpp"
#include "panel/layout/time_axis.hpp"

namespace kymo::panel {

/// The longest of some frames.
struct LongestFrame {
  Frame frame;
  bool is_known = true;  ///< else its start is not: it is one of the frames of `among`
  TimeRange among;
};

/// A frame, or several that are too narrow to show individually, represented by the longest.
struct FrameBar {
  float left = 0;  ///< pixels from the axis's left end
  float right = 0;
  LongestFrame longest;
  std::uint64_t count = 1;
};

struct FrameBars {
  std::vector<FrameBar> bars;  ///< by ascending left end
  std::int64_t longest_ns = 0;
  std::uint64_t count = 0;  ///< number of frames
  std::optional<Frame> latest;
};

/// The frames of the axis's range. The latest one is exact. At most width / least_pixels bars.
[[nodiscard]] FrameBars lay_out_frames(const FrameCover& frames, const TimeAxis& axis, double least_pixels);

/// The bar under a pixel; nullptr if there is none.
[[nodiscard]] const FrameBar* find_bar(const FrameBars& bars, double pixel);
/// The longest frame within a range, or else the longest that overlaps it.
[[nodiscard]] std::optional<LongestFrame> longest_frame(const FrameCover& frames, TimeRange range);

}  // namespace kymo::panel
