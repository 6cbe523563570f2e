// Fonts and colours of the current ImGui context.
#pragma once

#include "options.hpp"

namespace kymo::viewer {

/// Sets colours and sizes anew, and the font; `scale` times as large as on a monitor of 96 dots an inch. The renderer's
/// font texture must be made again.
void set_look(Theme theme, float scale);

}  // namespace kymo::viewer
