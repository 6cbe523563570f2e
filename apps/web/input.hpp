// Passes user input from the page's script to Dear ImGui.
#pragma once

#include <cstdint>
#include <deque>

namespace kymo::web {

/// Numbers shared by worker.js and this file.
enum class InputKind : std::int32_t {
  move = 0,  ///< x, y: position of the pointer; off the canvas: -1, -1
  button =
      1,  ///< x: which (0 left, 1 right, 2 middle); y: 1 pressed, 2 for the second time of a double click, 0 released
  wheel = 2,      ///< x, y: notches to the right, and up
  key = 3,        ///< x: a Key; y: 1 pressed, 0 released
  character = 4,  ///< x: its code point
  focus = 5,      ///< x: 1 the page has the focus, 0 it has lost it
  modifiers = 6,  ///< x: the sum of 1 control, 2 shift, 4 alt, 8 super
};

/// The keys in use, in the order of worker.js's list.
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

/// Queues input until a frame takes it. A press and its release are in different frames, however quick they were.
class InputQueue {
 public:
  /// Sets Dear ImGui's keys. Call after the context was created.
  static void set_up();
  void add(const Input& input);
  /// Passes on the input for one frame. Call before ImGui::NewFrame().
  void hand_over();
  [[nodiscard]] bool is_empty() const { return inputs_.empty(); }

 private:
  std::deque<Input> inputs_;
  int rest_ = 0;  // number of frames to wait
};

}  // namespace kymo::web
