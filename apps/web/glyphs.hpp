// Uses the browser's own font in Dear ImGui.
#pragma once

namespace kymo::web {

/// Fills the font atlas with the characters of European languages and of the panel, with lines of that many pixels.
/// Replaces the current content; the renderer must recreate its texture. Takes about 20 ms.
void use_browser_font(float line_pixels);

}  // namespace kymo::web
