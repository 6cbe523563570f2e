// Renders the window's content to a file without a window.
#include "picture.hpp"

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include "base/output/replacing_file.hpp"
#include "imgui_context.hpp"
#include "look.hpp"
#include "offscreen.hpp"
#include "shown.hpp"

namespace kymo::viewer {

namespace {

constexpr Size picture_size{1600, 900};
constexpr float frame_s = 1.0F / 60;

void draw_frame(Shown& shown) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::GetIO().DeltaTime = frame_s;
  ImGui::NewFrame();
  shown.draw();
  ImGui::Render();
}

/// Draws until nothing is pending. If a capture grows faster than it is read, stops after a while.
void settle(Shown& shown) {
  constexpr int calm_frames = 4;  // ImGui knows the size of an item one frame after its first use
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int calm = 0; calm < calm_frames && std::chrono::steady_clock::now() < deadline;) {
    draw_frame(shown);
    if (shown.is_busy()) {
      shown.wait();
      calm = 0;
    } else {
      ++calm;
    }
  }
}

/// A PNG chunk that names the software, with its length and CRC, by which kymo recognises its own pictures.
constexpr std::string_view png_mark("\0\0\0\x0DtEXtSoftware\0kymo\x80\xF6\xED\x75", 25);

std::string with_mark(std::string png) {
  constexpr std::size_t behind_header = 33;  // the size of the signature and the IHDR chunk
  return png.insert(behind_header, png_mark);
}

}  // namespace

void write_picture(const Options& options) {
  base::Replacing replacing{png_mark, options.is_forced, options.paths};
  if (!options.base.empty()) {
    replacing.inputs.push_back(options.base);
  }
  base::require_replaceable(options.screenshot, replacing);
  const Size size = options.size.value_or(picture_size);
  const ImGuiOwner owner;
  Shown shown;
  if (!options.paths.empty()) {
    options.base.empty() ? shown.open(options.paths) : shown.compare({options.base}, options.paths);
    shown.go_to(options);
  }
  offscreen::Offscreen target(size.width, size.height);
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = ImVec2(static_cast<float>(size.width), static_cast<float>(size.height));
  set_look(options.theme.value_or(Theme::dark), options.scale.value_or(1.0F));
  const GlRenderer renderer;
  settle(shown);
  const ImVec4 back = ImGui::GetStyle().Colors[ImGuiCol_WindowBg];
  target.clear(back.x, back.y, back.z);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  const std::string png = with_mark(target.to_png());
  base::replace_file(options.screenshot, replacing, [&png](base::OutputFile file) {
    file.buffer() = png;
    file.close();
  });
}

}  // namespace kymo::viewer
