// The pointer over a part of the panel.
#include "panel/view/pointer.hpp"

#include <algorithm>
#include <cmath>

namespace kymo::panel {

namespace {

void end_gesture(const Gesture& gesture, std::int64_t to_ns, ViewState& state) {
  const TimeRange range{std::min(gesture.from_ns, to_ns), std::max(gesture.from_ns, to_ns)};
  if (gesture.kind == Gesture::Kind::select && gesture.has_moved) {
    state.zoom_to(range);
  }
  if (gesture.kind == Gesture::Kind::measure && !gesture.has_moved) {
    state.measure(std::nullopt);
  }
}

void go_on(Gesture& gesture, const Pointer& pointer, float dragged_x, TimeAxis& axis, ViewState& state) {
  const std::int64_t now_ns = axis.to_time(pointer.pixel);
  if (gesture.kind == Gesture::Kind::pan && gesture.has_moved && dragged_x != 0) {
    axis.pan(double{dragged_x});
    state.hold();
  } else if (gesture.kind == Gesture::Kind::measure && gesture.has_moved) {
    state.measure(TimeRange{std::min(gesture.from_ns, now_ns), std::max(gesture.from_ns, now_ns)});
  }
}

}  // namespace

Pointer use_pointer(const char* id, const Area& area, TimeAxis& axis, ViewState& state, Gesture& gesture) {
  ImGui::SetCursorScreenPos(ImVec2(area.left, area.top));
  ImGui::InvisibleButton(id, ImVec2(std::max(area.width(), 1.0F), std::max(area.height(), 1.0F)),
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  const ImGuiIO& io = ImGui::GetIO();
  Pointer pointer;
  pointer.is_over = ImGui::IsItemHovered();
  pointer.pixel = double{io.MousePos.x} - double{area.left};
  pointer.y = io.MousePos.y - area.top;
  if (pointer.is_over && io.MouseWheel != 0) {
    if (io.KeyCtrl) {
      pointer.scrolled = io.MouseWheel;
    } else {
      axis.zoom(std::pow(0.8, double{io.MouseWheel}), pointer.pixel);
      state.hold();
    }
  }
  if (ImGui::IsItemActivated()) {
    gesture.kind = ImGui::IsMouseDown(ImGuiMouseButton_Right) ? Gesture::Kind::measure
                   : io.KeyShift                              ? Gesture::Kind::select
                                                              : Gesture::Kind::pan;
    gesture.from_ns = axis.to_time(pointer.pixel);
    gesture.has_moved = false;
    pointer.is_doubly_clicked = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  }
  const bool is_active = ImGui::IsItemActive();
  if (is_active || ImGui::IsItemDeactivated()) {
    const bool is_right = gesture.kind == Gesture::Kind::measure;
    const ImVec2 dragged =
        ImGui::GetMouseDragDelta(is_right ? ImGuiMouseButton_Right : ImGuiMouseButton_Left, io.MouseDragThreshold);
    gesture.has_moved = gesture.has_moved || dragged.x != 0 || dragged.y != 0;
    go_on(gesture, pointer, io.MouseDelta.x, axis, state);
    pointer.dragged_y = gesture.kind == Gesture::Kind::pan && gesture.has_moved ? io.MouseDelta.y : 0;
  }
  if (ImGui::IsItemDeactivated()) {
    pointer.is_clicked = !gesture.has_moved && gesture.kind == Gesture::Kind::pan;
    end_gesture(gesture, axis.to_time(pointer.pixel), state);
    gesture.kind = Gesture::Kind::none;
  }
  return pointer;
}

}  // namespace kymo::panel
