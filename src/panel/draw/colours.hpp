// The panel's colours for dark and light windows. Colours distinguish things; a shape, a line or a word also conveys
// the meaning.
#pragma once

#include <cstdint>
#include <string_view>

#include "panel/draw/imgui.hpp"

namespace kymo::panel {

struct Theme {
  bool is_light = false;
  ImU32 text = 0;
  ImU32 faint_text = 0;
  ImU32 ruler = 0;  ///< lines of rulers and thresholds
  ImU32 back = 0;   ///< behind bars and rows
  ImU32 band = 0;   ///< behind a track's title
  ImU32 good = 0;   ///< frames below the first threshold
  ImU32 slow = 0;   ///< between the thresholds
  ImU32 bad = 0;    ///< above the second
  ImU32 metric = 0;
  ImU32 stale = 0;
  ImU32 flow = 0;       ///< arrows
  ImU32 chosen = 0;     ///< outlines of pinned or selected items
  ImU32 selection = 0;  ///< covers a range being dragged or measured
};

/// The theme for the current style's window colour.
[[nodiscard]] Theme current_theme();

/// The colour for a name, the same in every run.
[[nodiscard]] ImU32 colour_of_name(std::string_view name, const Theme& theme);
/// Blends a share of a colour over the theme's background.
[[nodiscard]] ImU32 fade(ImU32 colour, float share);

}  // namespace kymo::panel
