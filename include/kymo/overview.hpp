// An overview image of a capture: frames as bars, tracks by scope coverage with a legend of their colours, one row per
// metric.
//
//     std::ofstream("overview.svg") << kymo::overview_svg(kymo::Timeline("run.kymo"));
//
// Component kymo::analysis.
#pragma once

#include <cstddef>
#include <string>

#include <kymo/timeline.hpp>

namespace kymo {

/// What an overview shows, and how large.
struct OverviewOptions {
  TimeRange range;                ///< part of the timeline to draw
  unsigned width = 960;           ///< pixels; 320 to 4096
  std::size_t most_tracks = 24;   ///< the busiest ones; the image states how many are left out
  std::size_t most_metrics = 24;  ///< the program's first, then frame times, CPU, GPU, power, the rest
};

/// Draws a self-contained SVG element: usable as a file or inside a page. Names are escaped, whatever bytes they
/// contain; nothing is loaded or executed. Background and text colours follow a dark theme. Order and colours are those
/// of the panel. Sampled metrics that do not change are counted, not drawn.
///
/// Tracks are drawn from the summaries if a capture has them, otherwise from the events. Frames and samples are read
/// from the events. Throws CaptureError if a file becomes unreadable. Memory does not grow with the captures, except
/// for 8 bytes per frame mark.
[[nodiscard]] KYMO_API std::string overview_svg(const Timeline& timeline, const OverviewOptions& options = {});

}  // namespace kymo
