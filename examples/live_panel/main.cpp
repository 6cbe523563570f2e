// A flock of birds in a window, with kymo's live panel of the program in the same window.
//
//     ./live_panel
//     ./live_panel --frames 300 --screenshot live.png
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include <imgui.h>
#include <kymo/kymo.hpp>
#include <kymo/panel.hpp>

#include "flock.hpp"
#include "options.hpp"
#include "screen.hpp"

namespace {

constexpr const char* usage =
    "Usage: live_panel [--frames N] [--screenshot FILE]\n"
    "Shows a flock of birds, and what the program does meanwhile.\n"
    "\n"
    "  --frames N         draw so many frames and end (300 with --screenshot; else until the window is closed)\n"
    "  --screenshot FILE  draw without a display, and write the last frame as PNG\n"
    "  --help             print this and exit\n";

constexpr int width = 1600;
constexpr int height = 1000;
constexpr std::size_t bird_count = 2400;
constexpr unsigned worker_count = 3;

void draw_flock(const live_panel::Flock& flock) {
  KYMO_SCOPE("draw flock", {"triangles", flock.birds().size()});
  ImDrawList& list = *ImGui::GetBackgroundDrawList();
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  for (const live_panel::Bird& bird : flock.birds()) {
    const float speed = std::hypot(bird.velocity.x, bird.velocity.y) + 1e-6F;
    const ImVec2 ahead(bird.velocity.x / speed, bird.velocity.y / speed);
    const ImVec2 at(bird.place.x * size.x, bird.place.y * size.y);
    const ImVec2 nose(at.x + ahead.x * 7, at.y + ahead.y * 7);
    const ImVec2 left(at.x - ahead.x * 4 - ahead.y * 3, at.y - ahead.y * 4 + ahead.x * 3);
    const ImVec2 right(at.x - ahead.x * 4 + ahead.y * 3, at.y - ahead.y * 4 - ahead.x * 3);
    const int warmth = bird.neighbours < 40 ? static_cast<int>(bird.neighbours) * 4 : 160;
    list.AddTriangleFilled(nose, left, right, IM_COL32(95 + warmth, 150, 255 - warmth, 255));
  }
}

void draw_panel(kymo::PanelState& panel) {
  KYMO_SCOPE("panel");
  ImGui::SetNextWindowPos(ImVec2(width * 0.04F, height * 0.3F), ImGuiCond_FirstUseEver);
  kymo::show(panel);
}

/// Pauses the panel and draws until it shows everything recorded, so the picture is complete.
void save_picture(const std::string& path, const live_panel::Flock& flock, kymo::PanelState& panel,
                  example::Screen& screen) {
  constexpr unsigned calm_frames = 3;
  constexpr unsigned most_frames = 1000;
  kymo::flush();
  for (unsigned calm = 0, frame = 0; calm < calm_frames && frame < most_frames; ++frame) {
    screen.begin_frame();
    draw_flock(flock);
    draw_panel(panel);
    screen.end_frame();
    if (frame == 0) {
      panel.toggle_pause();
    }
    calm = panel.is_busy() ? 0 : calm + 1;
  }
  screen.save_png(path);
}

void run(const example::ScreenOptions& options) {
  const bool has_window = options.screenshot.empty();
  const unsigned frames = options.frames != 0 || has_window ? options.frames : 300;
  kymo::enable();  // KYMO_RECORD=run.kymo writes a capture as well
  example::Screen screen(has_window ? "live panel" : "", width, height);
  kymo::PanelState panel{kymo::PanelConfig{}};
  kymo::set_thread_name("main");
  live_panel::Workers workers(worker_count);
  live_panel::Flock flock(bird_count, workers);

  for (unsigned frame = 0; frame != frames || frames == 0; ++frame) {
    kymo::frame_mark();
    if (!screen.begin_frame()) {
      break;
    }
    flock.step(1.0F / 60);
    kymo::record_metric_unit("neighbours", flock.mean_neighbours(), "birds");
    kymo::record_metric_unit("mean_speed", flock.mean_speed(), "widths/s");
    draw_flock(flock);
    draw_panel(panel);
    KYMO_SCOPE("present");
    screen.end_frame();
  }
  if (!has_window) {
    save_picture(options.screenshot, flock, panel, screen);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = example::parse_screen_options("live_panel", argc, argv);
  if (!options) {
    return 2;
  }
  if (options->wants_help) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (!options->paths.empty()) {
    std::fprintf(stderr, "live_panel: %s is not understood; see --help\n", options->paths.front().c_str());
    return 2;
  }
  try {
    run(*options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "live_panel: %s\n", error.what());
    return 1;
  }
  return 0;
}
