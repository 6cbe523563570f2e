// The pointer over a part of the panel, and its gestures on a time axis.
#pragma once

#include "panel/draw/canvas.hpp"
#include "panel/draw/imgui.hpp"
#include "panel/layout/view_state.hpp"

namespace kymo::panel {

/// The ongoing drag and its start.
struct Gesture {
  enum class Kind { none, pan, select, measure };
  Kind kind = Kind::none;
  std::int64_t from_ns = 0;
  bool has_moved = false;
};

/// The pointer in an area in this frame.
struct Pointer {
  bool is_over = false;
  bool is_clicked = false;  ///< pressed and released without moving
  bool is_doubly_clicked = false;
  double pixel = 0;  ///< from the area's left
  float y = 0;       ///< from its top
  float dragged_y = 0;
  float scrolled = 0;  ///< wheel with Ctrl
};

/// Makes an area of the current window an item, reads the pointer over it and applies gestures to the axis: the wheel
/// zooms about the pointer, dragging pans, shift-dragging zooms both axes to the covered range, dragging with the right
/// button measures.
[[nodiscard]] Pointer use_pointer(const char* id, const Area& area, TimeAxis& axis, ViewState& state, Gesture& gesture);

}  // namespace kymo::panel
