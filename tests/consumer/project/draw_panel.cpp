// Draws what it records itself, with the Dear ImGui that it was given.
#include <cstdio>

#include <imgui.h>

#include <kymo/kymo.hpp>
#include <kymo/panel.hpp>

#if defined(EXPECT_OWN_IMGUI) && !defined(OWN_IMGUI)
#error "the panel did not bring this project's own Dear ImGui"
#endif

namespace {

void draw_frame(kymo::PanelState& panel) {
  KYMO_SCOPE("frame");
  kymo::frame_mark();
  ImGui::NewFrame();
  kymo::show(panel);
  ImGui::Render();
}

}  // namespace

int main() {
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = ImVec2(1280, 720);
  unsigned char* pixels = nullptr;
  int width = 0;
  int height = 0;
  io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  int vertices = 0;
  {
    kymo::PanelState panel;
    for (int i = 0; i < 10; ++i) {
      draw_frame(panel);
    }
    kymo::flush();
    draw_frame(panel);
    vertices = ImGui::GetDrawData()->TotalVtxCount;
  }
  ImGui::DestroyContext();
  std::printf("%d vertices\n", vertices);
  return vertices > 200 ? 0 : 1;
}
