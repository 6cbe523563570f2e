// Sets fonts and colours of the current ImGui context.
#pragma once

#include "options.hpp"

namespace kymo::viewer {

/// Sets colours, sizes and font; `scale` is relative to a monitor with 96 dots per inch. The renderer must recreate its
/// font texture.
void set_look(Theme theme, float scale);

}  // namespace kymo::viewer
