// Keys that type nothing, in any version of Dear ImGui.
#pragma once

#include "panel/draw/imgui.hpp"

namespace kymo::panel {

[[nodiscard]] inline bool is_pressed(ImGuiKey key) {
#if IMGUI_VERSION_NUM >= 18700
  return ImGui::IsKeyPressed(key);
#else
  return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key));
#endif
}

/// Closes the current popup or menu if escape is pressed. Dear ImGui does so only while it navigates by keys.
inline void close_by_escape() {
  if (is_pressed(ImGuiKey_Escape)) {
    ImGui::CloseCurrentPopup();
  }
}

}  // namespace kymo::panel
