// A picture of a capture: frames as bars, tracks as far as scopes covered them, a row for each metric.
//
//     std::ofstream("overview.svg") << kymo::overview_svg(kymo::Timeline("run.kymo"));
//
// Component kymo::analysis.
#pragma once

#include <cstddef>
#include <string>

#include <kymo/timeline.hpp>

namespace kymo {

struct OverviewOptions {
  TimeRange range;                ///< what of the timeline to draw
  unsigned width = 960;           ///< pixels; 320 to 4096
  std::size_t most_tracks = 24;   ///< those that were busiest; how many are left out is said
  std::size_t most_metrics = 24;  ///< those declared first
};

/// Draws an SVG element that stands by itself: it may be a file, or part of a page. Names are escaped, whatever bytes
/// they are of; nothing in it is loaded or run. Its background and text change together where a dark theme is
/// preferred.
///
/// Tracks are drawn from the summaries, where a capture has them, else from the events; frames and samples are read.
/// CaptureError where a file cannot be read any more. Memory does not grow with the captures, but for 8 bytes a frame
/// mark.
[[nodiscard]] KYMO_API std::string overview_svg(const Timeline& timeline, const OverviewOptions& options = {});

}  // namespace kymo
