// Draws a histogram of durations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panel/data/time_math.hpp"
#include "panel/draw/colours.hpp"
#include "stats/statistics/site_figures.hpp"

namespace kymo::panel {

struct HistogramBars {
  std::string title;
  std::vector<std::uint64_t> counts;
  std::vector<double> edges_ns;    ///< one more than counts, ascending
  std::vector<double> targets_ns;  ///< lines, with their values
  LengthRange marked;              ///< bars within are outlined, unless all are
};

[[nodiscard]] HistogramBars bars_of(const stats::SiteFigures& figures);

/// Fills the rest of the current window. Returns the bar that was clicked. Sets `tip` while the pointer is over a bar.
std::optional<std::size_t> draw_histogram(const HistogramBars& bars, const Theme& theme, std::string& tip);

/// The lengths of the next bar that counts something, or all after the last one.
[[nodiscard]] LengthRange next_lengths(const stats::SiteFigures& figures, LengthRange marked);
/// The lengths to mark after a click on a bar: the bar's, or all if these are marked already.
[[nodiscard]] LengthRange lengths_after_click(const stats::SiteFigures& figures, std::size_t bar, LengthRange marked);

}  // namespace kymo::panel
