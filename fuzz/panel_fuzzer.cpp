// A capture file, shown and used: opened as it is and with its checksums put right, drawn, and gone through with mouse
// and keys, as whoever looks for what is wrong with it would.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/timeline.hpp>

#include "panel/panel_view.hpp"
#include "panel/timeline_blocks.hpp"
#include "repair.hpp"

namespace {

using namespace kymo;

/// A screen that nobody sees; small, as what is drawn follows from its pixels.
class Screen {
 public:
  Screen() {
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = ImVec2(640, 400);
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    io.Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen() { ImGui::DestroyContext(); }

  static void draw(panel::PanelView& view) {
    ImGui::NewFrame();
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::Begin("window", nullptr, ImGuiWindowFlags_NoDecoration);
    view.draw();
    ImGui::End();
    ImGui::Render();
  }
  static void click(panel::PanelView& view, const panel::Area& area, float across, float down) {
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = ImVec2(area.left + area.width() * across, area.top + area.height() * down);
    draw(view);
    io.MouseDown[0] = true;
    draw(view);
    io.MouseDown[0] = false;
    draw(view);
  }
};

void show(const std::vector<std::byte>& file) {
  std::vector<CaptureReader> readers;
  std::shared_ptr<panel::BlockProvider> provider;
  try {
    readers.emplace_back(file.data(), file.size(), "fuzzed");
    provider = std::make_shared<panel::TimelineBlocks>(Timeline(std::move(readers)));
  } catch (const CaptureError&) {
    return;
  }
  panel::DataOptions options;
  options.has_thread = false;
  options.budget = std::chrono::hours(1);
  options.cache_bytes = std::size_t{1} << 20U;
  const Screen screen;
  panel::PanelView view(std::move(provider), {}, options);
  Screen::draw(view);
  Screen::draw(view);
  for (const float across : {0.1F, 0.5F, 0.9F}) {
    Screen::click(view, view.marks().bars, across, 0.5F);
    Screen::click(view, view.marks().flame, across, 0.1F);
    Screen::click(view, view.marks().flame, across, 0.3F);
  }
  Screen::click(view, view.marks().rows, 0.5F, 0.2F);
  // Each is a key of the list that `?` shows.
  for (const char* key = "0wwmdmzinpcWD/%?? tt 1f"; *key != 0; ++key) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(*key));
    Screen::draw(view);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  show(file);
  fuzz::repair(file);
  show(file);
  return 0;
}
