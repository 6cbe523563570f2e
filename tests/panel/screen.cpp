#include "screen.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace kymo::test {

Screen::Screen(std::function<void()> draw, ImVec2 size) : draw_(std::move(draw)), screen_(size) {
  ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM < 18700
  for (int key = 0; key < ImGuiKey_COUNT; ++key) {
    io.KeyMap[key] = key;
  }
#else
  io.ConfigInputTrickleEventQueue = false;
#endif
  frames(3);
}

void Screen::frame() {
  screen_.frame(draw_);
  static_cast<void>(checked_vertices());
}

void Screen::frames(int count) {
  for (int i = 0; i < count; ++i) {
    frame();
  }
}

void Screen::move(float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
  ImGui::GetIO().AddMousePosEvent(x, y);
#else
  ImGui::GetIO().MousePos = ImVec2(x, y);
#endif
  frame();
}

void Screen::set_button(int button, bool is_down) {
#if IMGUI_VERSION_NUM >= 18700
  ImGui::GetIO().AddMouseButtonEvent(button, is_down);
#else
  ImGui::GetIO().MouseDown[button] = is_down;
#endif
}

void Screen::set_modifier(bool shift, bool ctrl) {
  ImGuiIO& io = ImGui::GetIO();
#if IMGUI_VERSION_NUM >= 18700
  io.AddKeyEvent(ImGuiMod_Shift, shift);
  io.AddKeyEvent(ImGuiMod_Ctrl, ctrl);
#else
  io.KeyShift = shift;
  io.KeyCtrl = ctrl;
  io.KeyMods = (shift ? ImGuiKeyModFlags_Shift : 0) | (ctrl ? ImGuiKeyModFlags_Ctrl : 0);
#endif
}

void Screen::press(int button) {
  set_button(button, true);
  frame();
}

void Screen::let_go(int button) {
  set_button(button, false);
  frames(2);
}

void Screen::click(float x, float y, int button) {
  move(x, y);
  frame();
  press(button);
  let_go(button);
  frames(30);  // so that the next click is not the second of a double one
}

void Screen::double_click(float x, float y) {
  move(x, y);
  frame();
  press();
  set_button(0, false);
  frame();
  press();
  let_go();
  frames(30);
}

void Screen::drag(ImVec2 from, ImVec2 to, int button, bool shift) {
  set_modifier(shift, false);
  move(from.x, from.y);
  frame();
  press(button);
  constexpr int steps = 8;
  for (int i = 1; i <= steps; ++i) {
    const float share = static_cast<float>(i) / steps;
    move(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share);
  }
  let_go(button);
  set_modifier(false, false);
  frames(30);
}

void Screen::wheel(float x, float y, float notches, bool ctrl) {
  move(x, y);
  set_modifier(false, ctrl);
  frame();
#if IMGUI_VERSION_NUM >= 18700
  ImGui::GetIO().AddMouseWheelEvent(0, notches);
#else
  ImGui::GetIO().MouseWheel = notches;
#endif
  frame();
  set_modifier(false, false);
  frame();
}

void Screen::type(const char* text) {
  ImGui::GetIO().AddInputCharactersUTF8(text);
  frames(3);
}

void Screen::key(ImGuiKey key, bool shift) {
  set_modifier(shift, false);
#if IMGUI_VERSION_NUM >= 18700
  ImGui::GetIO().AddKeyEvent(key, true);
  frame();
  ImGui::GetIO().AddKeyEvent(key, false);
#else
  ImGui::GetIO().KeysDown[key] = true;
  frame();
  ImGui::GetIO().KeysDown[key] = false;
#endif
  set_modifier(false, false);
  frames(3);
}

int Screen::checked_vertices() const {
  const ImDrawData* data = ImGui::GetDrawData();
  int vertices = 0;
  for (int i = 0; i < data->CmdListsCount; ++i) {
    const ImDrawList* list = data->CmdLists[i];
    EXPECT_LT(list->VtxBuffer.Size, 65536);
    for (const ImDrawIdx index : list->IdxBuffer) {
      if (static_cast<int>(index) >= list->VtxBuffer.Size) {
        ADD_FAILURE() << "an index beyond the vertices";
        break;
      }
    }
    vertices += list->VtxBuffer.Size;
  }
  return vertices;
}

ImVec2 place_in(const panel::Area& area, float across, float down) {
  return {area.left + area.width() * across, area.top + area.height() * down};
}

}  // namespace kymo::test
