// Passes user input to Dear ImGui, 1.86 up to current versions.
#include "input.hpp"

#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include <imgui.h>

namespace kymo::web {

namespace {

constexpr ImGuiKey imgui_keys[] = {
    ImGuiKey_Tab,    ImGuiKey_LeftArrow, ImGuiKey_RightArrow, ImGuiKey_UpArrow, ImGuiKey_DownArrow,
    ImGuiKey_PageUp, ImGuiKey_PageDown,  ImGuiKey_Home,       ImGuiKey_End,     ImGuiKey_Insert,
    ImGuiKey_Delete, ImGuiKey_Backspace, ImGuiKey_Enter,      ImGuiKey_Escape,  ImGuiKey_A,
    ImGuiKey_C,      ImGuiKey_V,         ImGuiKey_X,          ImGuiKey_Y,       ImGuiKey_Z,
};
constexpr int key_count = static_cast<int>(Key::count);
static_assert(std::size(imgui_keys) == static_cast<std::size_t>(key_count));

constexpr std::size_t most_inputs = 10000;

void apply(const Input& input) {
  ImGuiIO& io = ImGui::GetIO();
  const int number = static_cast<int>(input.x);
  const bool is_down = input.y != 0;
  switch (input.kind) {
    case InputKind::move:
      io.MousePos = input.x < 0 ? ImVec2(-std::numeric_limits<float>::max(), -std::numeric_limits<float>::max())
                                : ImVec2(input.x, input.y);
      break;
    case InputKind::button:
      if (number >= 0 && number < 3) {
        io.MouseDown[number] = is_down;
        // The browser decides which clicks form a double click, at any frame rate.
        io.MouseDoubleClickTime = input.y > 1 ? 1e6F : 0;
      }
      break;
    case InputKind::wheel:
      io.MouseWheelH += input.x;
      io.MouseWheel += input.y;
      break;
    case InputKind::key:
      if (number >= 0 && number < key_count) {
#if IMGUI_VERSION_NUM >= 18700
        io.AddKeyEvent(imgui_keys[number], is_down);
#else
        io.KeysDown[number] = is_down;
#endif
      }
      break;
    case InputKind::character:
      io.AddInputCharacter(static_cast<unsigned>(number));
      break;
    case InputKind::focus:
      io.AddFocusEvent(number != 0);
      break;
    case InputKind::modifiers:
      io.KeyCtrl = (number & 1) != 0;
      io.KeyShift = (number & 2) != 0;
      io.KeyAlt = (number & 4) != 0;
      io.KeySuper = (number & 8) != 0;
#if IMGUI_VERSION_NUM >= 18700
      io.AddKeyEvent(ImGuiMod_Ctrl, io.KeyCtrl);
      io.AddKeyEvent(ImGuiMod_Shift, io.KeyShift);
      io.AddKeyEvent(ImGuiMod_Alt, io.KeyAlt);
#endif
      break;
  }
}

}  // namespace

void InputQueue::set_up() {
#if IMGUI_VERSION_NUM < 18700
  for (int i = 0; i < key_count; ++i) {
    ImGui::GetIO().KeyMap[imgui_keys[i]] = i;
  }
#endif
}

void InputQueue::add(const Input& input) {
  if (inputs_.size() < most_inputs) {
    inputs_.push_back(input);
  }
}

void InputQueue::hand_over() {
  if (rest_ > 0) {
    --rest_;
    return;
  }
  std::set<std::pair<InputKind, int>> changed;
  bool has_clicked = false;
  bool has_moved = false;
  bool has_typed = false;
  bool has_pressed_key = false;
  while (!inputs_.empty()) {
    const Input input = inputs_.front();
    const bool is_key_press = input.kind == InputKind::key && input.y != 0;
    const bool is_character = input.kind == InputKind::character;
    // Within a frame, Dear ImGui handles characters before keys, whichever came first.
    if ((is_key_press && has_typed) || (is_character && has_pressed_key)) {
      return;
    }
    // A drag that moved and ended in the same frame would be lost.
    if (input.kind == InputKind::button && input.y == 0 && has_moved) {
      return;
    }
    if (input.kind == InputKind::button || input.kind == InputKind::key) {
      if (!changed.emplace(input.kind, static_cast<int>(input.x)).second) {
        return;
      }
      has_clicked = has_clicked || input.kind == InputKind::button;
      has_pressed_key = has_pressed_key || is_key_press;
    } else if ((input.kind == InputKind::move || input.kind == InputKind::modifiers) && has_clicked) {
      return;  // a click counts at its position and with its modifiers
    }
    has_moved = has_moved || input.kind == InputKind::move;
    apply(input);
    inputs_.pop_front();
    if (is_character && !ImGui::GetIO().WantTextInput) {
      // A command may open a text field, which gets the keyboard two frames later.
      rest_ = 2;
      return;
    }
    has_typed = has_typed || is_character;
  }
}

}  // namespace kymo::web
