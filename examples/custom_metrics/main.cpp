// Shows a program's own records as rows of the panel, next to kymo's recordings. It uses neither a window nor OpenGL
// and counts what would be drawn, which is enough to show the panel's whole interface.
//
//     ./custom_metrics
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <vector>

#include <imgui.h>
#include <kymo/kymo.hpp>
#include <kymo/panel.hpp>

namespace {

/// The program's record of a frame.
struct Frame {
  std::uint32_t visible = 0;
  float sort_ms = 0;
  double loss = 0;
};

constexpr std::size_t most_frames = 600;

Frame render(unsigned number) {
  KYMO_SCOPE("render", {"frame", number});
  Frame frame;
  {
    KYMO_SCOPE("cull");
    frame.visible = 9000 + number * 37 % 1000;
  }
  KYMO_SCOPE("sort");
  frame.sort_ms = 0.4F + static_cast<float>(number % 9) * 0.05F;
  frame.loss = 1.0 / (1 + number);
  return frame;
}

/// Dear ImGui without a renderer needs only a size and a font.
void prepare_imgui() {
  ImGui::CreateContext();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.DisplaySize = ImVec2(1280, 720);
  io.DeltaTime = 1.0F / 60;
  unsigned char* pixels = nullptr;
  int width = 0;
  int height = 0;
  io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
}

void run() {
  kymo::enable();
  kymo::PanelConfig config;
  config.title = "splats";
  config.history_capacity = most_frames;
  kymo::PanelState panel{config};
  std::deque<Frame> history;
  const std::vector<kymo::Metric<Frame>> metrics = {
      kymo::Metric{"visible", &Frame::visible, "splats"}.as_integer(),
      kymo::Metric{"sort", &Frame::sort_ms, "ms"},
      kymo::Metric{"loss", &Frame::loss},
  };
  for (unsigned number = 0; number < 120; ++number) {
    history.push_back(render(number));
    if (history.size() > most_frames) {
      history.pop_front();
    }
    panel.tick();
    // Pauses the panel halfway, while the program continues.
    if (number == 60) {
      panel.toggle_pause();
    }
    ImGui::NewFrame();
    kymo::show(panel, history, metrics);
    ImGui::Render();
  }
  std::printf("paused: %s\n", panel.is_paused() ? "yes" : "no");
  panel.toggle_pause();
  std::printf("paused: %s\n", panel.is_paused() ? "yes" : "no");
  std::printf("frames kept: %zu\n", history.size());
  std::printf("something is drawn: %s\n", ImGui::GetDrawData()->TotalVtxCount > 0 ? "yes" : "no");
}

}  // namespace

int main() {
  try {
    prepare_imgui();
    run();
    ImGui::DestroyContext();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "custom_metrics: %s\n", error.what());
    return 1;
  }
  return 0;
}
