// The panel's colours.
#include "panel/draw/colours.hpp"

#include <algorithm>

#include "base/text/name_palette.hpp"

namespace kymo::panel {

namespace {

ImU32 rgb(unsigned red, unsigned green, unsigned blue, unsigned alpha = 255) {
  return IM_COL32(red, green, blue, alpha);
}

}  // namespace

Theme current_theme() {
  const ImVec4 window = ImGui::GetStyle().Colors[ImGuiCol_WindowBg];
  Theme theme;
  theme.is_light = 0.3F * window.x + 0.59F * window.y + 0.11F * window.z > 0.5F;
  theme.text = ImGui::GetColorU32(ImGuiCol_Text);
  theme.box_text = rgb(15, 15, 20);
  theme.stale = rgb(120, 130, 140);
  theme.faint_text = ImGui::GetColorU32(ImGuiCol_Text, 0.65F);
  if (theme.is_light) {
    theme.ruler = rgb(0, 0, 0, 60);
    theme.back = rgb(0, 0, 0, 14);
    theme.band = rgb(0, 0, 0, 26);
    // Blue, amber and vermilion are distinguishable with all common kinds of colour blindness.
    theme.good = rgb(60, 130, 190);
    theme.slow = rgb(200, 140, 0);
    theme.bad = rgb(200, 70, 10);
    theme.metric = rgb(30, 110, 160);
    theme.flow = rgb(20, 20, 30, 150);
    theme.chosen = rgb(0, 0, 0);
    theme.selection = rgb(40, 90, 200, 50);
  } else {
    theme.ruler = rgb(255, 255, 255, 50);
    theme.back = rgb(255, 255, 255, 10);
    theme.band = rgb(255, 255, 255, 22);
    theme.good = rgb(86, 160, 214);
    theme.slow = rgb(230, 170, 40);
    theme.bad = rgb(230, 100, 40);
    theme.metric = rgb(100, 190, 230);
    theme.flow = rgb(250, 250, 230, 150);
    theme.chosen = rgb(255, 255, 255);
    theme.selection = rgb(120, 170, 255, 60);
  }
  return theme;
}

ImU32 palette_colour(std::size_t place) {
  const base::Rgb colour = base::palette_colour(place);
  return rgb(colour.red, colour.green, colour.blue);
}

ImU32 fade(ImU32 colour, float share) {
  const auto alpha = static_cast<float>((colour >> IM_COL32_A_SHIFT) & 0xFFU) * std::clamp(share, 0.0F, 1.0F);
  return (colour & ~IM_COL32_A_MASK) | (static_cast<ImU32>(alpha) << IM_COL32_A_SHIFT);
}

}  // namespace kymo::panel
