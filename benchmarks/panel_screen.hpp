// Draws the panel without a renderer, for measurements.
#pragma once

#include "panel/view/panel_view.hpp"
#include "support/unseen_screen.hpp"

namespace kymo::benchmarks {

class Screen {
 public:
  /// Draws a frame; returns its vertices.
  int draw(panel::PanelView& view) const {
    screen_.frame([&view] { view.draw(); });
    return ImGui::GetDrawData()->TotalVtxCount;
  }
  /// Draws until all visible data was read.
  void settle(panel::PanelView& view) const {
    draw(view);
    while (view.state().data().is_busy()) {
      view.state().data().wait();
      draw(view);
    }
    draw(view);
  }

 private:
  test::UnseenScreen screen_{ImVec2(1920, 1080)};
};

}  // namespace kymo::benchmarks
