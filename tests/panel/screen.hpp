// A screen without a renderer: Dear ImGui with events put in by hand.
#pragma once

#include <functional>
#include <string>

#include "panel/draw/imgui.hpp"
#include "panel/view/pointer.hpp"
#include "support/unseen_screen.hpp"

namespace kymo::test {

/// One ImGui context whose frames draw one window over the whole screen. Each call ends with a drawn frame.
class Screen {
 public:
  /// `draw` is called inside the window.
  explicit Screen(std::function<void()> draw, ImVec2 size = ImVec2(1920, 1080));
  void frame();
  void frames(int count);
  void move(float x, float y);
  void press(int button = 0);
  void let_go(int button = 0);
  void click(float x, float y, int button = 0);
  void double_click(float x, float y);
  /// Presses at one place, moves to the other in steps, lets go.
  void drag(ImVec2 from, ImVec2 to, int button = 0, bool shift = false);
  void wheel(float x, float y, float notches, bool ctrl = false);
  void type(const char* text);
  void key(ImGuiKey key, bool shift = false);

  /// The vertices of the last frame; fails where a draw list has more than 16-bit indices can name, or indices beyond
  /// its vertices.
  [[nodiscard]] int checked_vertices() const;

 private:
  void set_button(int button, bool is_down);
  void set_modifier(bool shift, bool ctrl);

  std::function<void()> draw_;
  UnseenScreen screen_;
};

/// The middle of an area, or a place in it by shares.
[[nodiscard]] ImVec2 place_in(const panel::Area& area, float across = 0.5F, float down = 0.5F);

}  // namespace kymo::test
