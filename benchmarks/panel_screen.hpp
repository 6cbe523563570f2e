// The panel drawn without a renderer, to be measured.
#pragma once

#include "panel/panel_view.hpp"
#include "support/unseen_screen.hpp"

namespace kymo::benchmarks {

class Screen {
 public:
  /// Draws a frame; returns its vertices.
  int draw(panel::PanelView& view) const {
    screen_.frame([&view] { view.draw(); });
    return ImGui::GetDrawData()->TotalVtxCount;
  }
  /// Draws until everything that is seen was read.
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
