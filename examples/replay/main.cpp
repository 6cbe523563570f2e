// Shows captures, finished or still growing, in the program's own window with kymo's panel.
//
//     ./replay run.kymo
#include <cstdio>
#include <exception>

#include <imgui.h>
#include <kymo/panel.hpp>

#include "options.hpp"
#include "screen.hpp"

namespace {

constexpr const char* usage =
    "Usage: replay [--frames N] [--screenshot FILE] CAPTURE...\n"
    "Shows captures, or directories of them, on one time axis.\n"
    "\n"
    "  --frames N         draw so many frames and end (else until the window is closed)\n"
    "  --screenshot FILE  draw without a display until everything is read, and write that as PNG\n"
    "  --help             print this and exit\n";

void draw(kymo::ReplayState& replay) {
  ImGui::SetNextWindowPos(ImVec2(40, 40), ImGuiCond_FirstUseEver);
  ImGui::SetNextWindowSize(ImVec2(1200, 720), ImGuiCond_FirstUseEver);
  ImGui::Begin("what happened", nullptr, ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::Text("%s; space pauses and resumes", replay.is_paused() ? "paused" : "not paused");
  replay.show();
  ImGui::End();
}

void run(const example::ScreenOptions& options) {
  const bool has_window = options.screenshot.empty();
  kymo::ReplayState replay = kymo::ReplayState::open(options.paths);
  example::Screen screen(has_window ? "replay" : "", 1280, 800);
  constexpr unsigned first_frames = 4;  // until all sizes are known
  for (unsigned frame = 0; frame != options.frames || options.frames == 0; ++frame) {
    if (!screen.begin_frame()) {
      return;
    }
    draw(replay);
    screen.end_frame();
    if (!has_window && options.frames == 0 && frame >= first_frames && !replay.is_busy()) {
      break;
    }
  }
  if (!has_window) {
    screen.save_png(options.screenshot);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = example::parse_screen_options("replay", argc, argv);
  if (!options) {
    return 2;
  }
  if (options->wants_help) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (options->paths.empty()) {
    std::fputs("replay: no capture was named; see --help\n", stderr);
    return 2;
  }
  try {
    run(*options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return 1;
  }
  return 0;
}
