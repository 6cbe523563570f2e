// A replayed game on a screen, and where its parts stand there.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "game_capture.hpp"
#include "screen.hpp"

namespace kymo::test {

class Interaction : public testing::Test {
 protected:
  explicit Interaction(const std::vector<EventBatch>& batches = Game().batches(), ImVec2 size = ImVec2(1920, 1080))
      : bytes_(write_capture(batches, true)),
        view_(provide(bytes_), {}, immediate_data()),
        screen_([this] { view_.draw(); }, size) {
    screen_.frames(5);
  }

  /// Where a time stands in the bars or rows.
  [[nodiscard]] float overview_x(std::int64_t time_ns) {
    return view_.marks().bars.left + static_cast<float>(view_.state().overview().to_pixel(time_ns));
  }
  [[nodiscard]] float flame_x(std::int64_t time_ns) {
    return view_.marks().flame.left + static_cast<float>(view_.state().flame().to_pixel(time_ns));
  }
  [[nodiscard]] static float middle_of(const panel::Area& area) { return (area.top + area.bottom) / 2; }
  /// The height of a line of the flame chart, counted from 0 at the title of the first track.
  [[nodiscard]] float flame_y(unsigned line) {
    const float height = std::floor(ImGui::GetTextLineHeight() * 1.25F);
    return view_.marks().flame.top + (static_cast<float>(line) + 0.5F) * height;
  }
  void click_bar(unsigned frame) {
    screen_.click(overview_x(Game::start_of(frame) + Game::frame_ns / 2), middle_of(view_.marks().bars));
  }
  void click(const panel::Area& area) { screen_.click(place_in(area).x, place_in(area).y); }

  Bytes bytes_;
  panel::PanelView view_;
  Screen screen_;
};

/// Whether a text holds another.
[[nodiscard]] inline bool has_text(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace kymo::test
