// Draws a histogram of durations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/colours.hpp"
#include "stats/statistics/site_figures.hpp"

namespace kymo::panel {

struct HistogramLook {
  std::string title;
  std::vector<double> targets_ns;  ///< lines, with their values
  LengthRange marked;              ///< bars within are outlined, unless all are
};

/// Fills the rest of the current window. Returns the lengths to mark after a click on a bar: the bar's, or all if these
/// are marked already. Sets `tip` while the pointer is over a bar.
std::optional<LengthRange> draw_histogram(const stats::SiteFigures& figures, const HistogramLook& look,
                                          const Theme& theme, std::string& tip);

/// The lengths of the next bar that counts something, or all after the last one.
[[nodiscard]] LengthRange next_lengths(const stats::SiteFigures& figures, LengthRange marked);

}  // namespace kymo::panel
