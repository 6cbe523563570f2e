// What the user does, as the page's script tells it, handed to Dear ImGui.
#pragma once

#include <cstdint>
#include <deque>

namespace kymo::web {

/// Numbers that worker.js and this file share.
enum class InputKind : std::int32_t {
  move = 0,  ///< x, y: where the pointer is; off the canvas: -1, -1
  button =
      1,  ///< x: which (0 left, 1 right, 2 middle); y: 1 pressed, 2 for the second time of a double click, 0 released
  wheel = 2,      ///< x, y: notches to the right, and up
  key = 3,        ///< x: a Key; y: 1 pressed, 0 released
  character = 4,  ///< x: its code point
  focus = 5,      ///< x: 1 the page has it, 0 it went elsewhere
  modifiers = 6,  ///< x: 1 control, 2 shift, 4 alt, 8 super, added up
};

/// The keys that matter here, in the order of worker.js's list.
enum class Key : std::int32_t {
  tab,
  left,
  right,
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  insert,
  del,
  backspace,
  enter,
  escape,
  a,
  c,
  v,
  x,
  y,
  z,
  count
};

struct Input {
  InputKind kind = InputKind::move;
  float x = 0;
  float y = 0;
};

/// Keeps what was done until a frame takes it. A press and its release come in different frames, however quick they
/// were.
class InputQueue {
 public:
  /// Tells Dear ImGui its keys. After the context was made.
  static void set_up();
  void add(const Input& input);
  /// Hands over what one frame can take. Before ImGui::NewFrame().
  void hand_over();
  [[nodiscard]] bool is_empty() const { return inputs_.empty(); }

 private:
  std::deque<Input> inputs_;
  int rest_ = 0;  // frames to wait
};

}  // namespace kymo::web
