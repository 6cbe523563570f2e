// A screen that nobody sees.
#pragma once

#include "panel/panel_view.hpp"

namespace kymo::benchmarks {

/// A screen without a renderer.
class Screen {
 public:
  Screen() {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().DisplaySize = ImVec2(1920, 1080);
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    ImGui::GetIO().Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { ImGui::DestroyContext(); }

  /// Draws a frame; returns its vertices.
  static int draw(panel::PanelView& view) {
    ImGui::NewFrame();
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("window", nullptr, ImGuiWindowFlags_NoDecoration);
    view.draw();
    ImGui::End();
    ImGui::Render();
    return ImGui::GetDrawData()->TotalVtxCount;
  }
  /// Draws until everything that is seen was read.
  static void settle(panel::PanelView& view) {
    draw(view);
    while (view.state().data().is_busy()) {
      view.state().data().wait();
      draw(view);
    }
    draw(view);
  }
};

}  // namespace kymo::benchmarks
