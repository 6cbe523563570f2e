// The list of mouse and keyboard actions, shown by `?`.
#pragma once

#include <vector>

#include "panel/draw/colours.hpp"

namespace kymo::panel {

struct HelpLine {
  const char* heading;  ///< of the lines from here on; empty: that of the line before
  const char* mouse;    ///< empty: none
  const char* keys;
  const char* what;
};

[[nodiscard]] const std::vector<HelpLine>& help_lines();

/// Draws them over the current window.
void draw_help(const Theme& theme);

}  // namespace kymo::panel
