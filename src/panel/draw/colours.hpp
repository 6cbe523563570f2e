// The panel's colours for dark and light windows. Colours distinguish things; a shape, a line or a word also conveys
// the meaning.
#pragma once

#include <cstddef>

#include "panel/draw/imgui.hpp"

namespace kymo::panel {

struct Theme {
  bool is_light = false;
  ImU32 text = 0;
  ImU32 faint_text = 0;
  ImU32 box_text = 0;  ///< on the colour of a name
  ImU32 ruler = 0;     ///< lines of rulers and thresholds
  ImU32 back = 0;      ///< behind bars and rows
  ImU32 band = 0;      ///< behind a track's title
  ImU32 good = 0;      ///< frames below the first threshold
  ImU32 slow = 0;      ///< between the thresholds
  ImU32 bad = 0;       ///< above the second
  ImU32 metric = 0;
  ImU32 stale = 0;
  ImU32 flow = 0;       ///< arrows
  ImU32 chosen = 0;     ///< outlines of pinned or selected items
  ImU32 selection = 0;  ///< covers a range being dragged or measured
};

/// The theme for the current style's window colour.
[[nodiscard]] Theme current_theme();

/// The current style's window colour, opaque.
[[nodiscard]] inline ImU32 window_colour() {
  return ImGui::GetColorU32(ImGuiCol_WindowBg) | IM_COL32_A_MASK;
}

/// A colour for names, the same in light and dark; place < base::palette_size.
[[nodiscard]] ImU32 palette_colour(std::size_t place);

/// Blends a share of a colour over the theme's background.
[[nodiscard]] ImU32 fade(ImU32 colour, float share);

}  // namespace kymo::panel
