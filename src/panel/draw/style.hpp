// The look of the panel where it has a window or a page of its own.
#pragma once

namespace kymo::panel {

/// The height of a line of text at scale 1, in pixels.
inline constexpr float text_pixels = 15;

/// Sets colours and sizes of the current Dear ImGui context, at a scale relative to a screen with 96 dots per inch.
/// Does not set a font. A program that shows the panel in a window of its own keeps its own style instead.
void use_style(bool is_light, float scale);

}  // namespace kymo::panel
