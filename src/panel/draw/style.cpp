#include "panel/draw/style.hpp"

#include "panel/draw/imgui.hpp"

namespace kymo::panel {

void use_style(bool is_light, float scale) {
  ImGuiStyle style;
  if (is_light) {
    ImGui::StyleColorsLight(&style);
    style.Colors[ImGuiCol_WindowBg] = ImVec4(0.97F, 0.97F, 0.98F, 1);
    style.Colors[ImGuiCol_PopupBg] = ImVec4(1, 1, 1, 1);
  } else {
    ImGui::StyleColorsDark(&style);
    style.Colors[ImGuiCol_WindowBg] = ImVec4(0.09F, 0.10F, 0.12F, 1);
    style.Colors[ImGuiCol_PopupBg] = ImVec4(0.13F, 0.14F, 0.17F, 1);
  }
  style.WindowRounding = 0;
  style.WindowBorderSize = 0;
  style.FrameRounding = 3;
  style.PopupRounding = 3;
  style.GrabRounding = 3;
  style.ScaleAllSizes(scale);
  ImGui::GetStyle() = style;
}

}  // namespace kymo::panel
