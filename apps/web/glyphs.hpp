// The browser's own font as Dear ImGui's.
#pragma once

namespace kymo::web {

/// Puts the letters of Europe's languages and what the panel writes into the font atlas, with lines of so many pixels.
/// Replaces what is there; the renderer must make its texture anew. Takes about 20 ms.
void use_browser_font(float line_pixels);

}  // namespace kymo::web
