// A capture file in the panel: opened unchanged and with corrected checksums, drawn, and explored with mouse and keys
// as by a person who looks for a problem.
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

#include "panel/data/timeline_blocks.hpp"
#include "panel/view/panel_view.hpp"
#include "repair.hpp"
#include "support/unseen_screen.hpp"

namespace {

using namespace kymo;

/// Small, because drawing cost grows with its pixels.
class Screen {
 public:
  void draw(panel::PanelView& view) const {
    screen_.frame([&view] { view.draw(); });
  }
  void click(panel::PanelView& view, const panel::Area& area, float across, float down) const {
    ImGuiIO& io = ImGui::GetIO();
    io.MousePos = ImVec2(area.left + area.width() * across, area.top + area.height() * down);
    draw(view);
    io.MouseDown[0] = true;
    draw(view);
    io.MouseDown[0] = false;
    draw(view);
  }

 private:
  test::UnseenScreen screen_{ImVec2(640, 400)};
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
  screen.draw(view);
  screen.draw(view);
  for (const float across : {0.1F, 0.5F, 0.9F}) {
    screen.click(view, view.marks().bars, across, 0.5F);
    screen.click(view, view.marks().flame, across, 0.1F);
    screen.click(view, view.marks().flame, across, 0.3F);
  }
  screen.click(view, view.marks().rows, 0.5F, 0.2F);
  // Each is a key in the list of `?`.
  for (const char* key = "0wwmdmzinpcWD/%?? tt 1f"; *key != 0; ++key) {
    ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(*key));
    screen.draw(view);
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
