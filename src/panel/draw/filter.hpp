// A field for a text: to search for in rows, or to add.
#pragma once

#include <cstdint>

#include "panel/draw/imgui.hpp"

namespace kymo::panel {

class Filter {
 public:
  /// `hint`: shown in the empty field.
  explicit Filter(const char* label, const char* hint = "") : label_(label), hint_(hint) {}

  /// `width` in pixels; 0: the usual one.
  void draw(float width = 0) {
    if (put(width, ImGuiInputTextFlags_None)) {
      version_ += std::uint64_t{1} << 32U;
    }
  }
  /// Likewise. Returns whether the text was entered.
  [[nodiscard]] bool draw_entry(float width) { return put(width, ImGuiInputTextFlags_EnterReturnsTrue); }
  void clear() { text_[0] = 0; }
  /// What is typed next replaces the text.
  void focus() { focuses_ = selects_ = true; }
  [[nodiscard]] const char* text() const { return text_; }
  /// Changes with the text; its lower half is 0.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  bool put(float width, ImGuiInputTextFlags flags) {
    ImGui::SetNextItemWidth(width > 0 ? width : ImGui::GetFontSize() * 12);
    if (focuses_) {
      ImGui::SetKeyboardFocusHere();
      focuses_ = false;
    }
    const int selects = selects_ ? ImGuiInputTextFlags_AutoSelectAll : ImGuiInputTextFlags_None;
    const bool is_put = ImGui::InputTextWithHint(label_, hint_, text_, sizeof text_, flags | selects);
    selects_ = selects_ && !ImGui::IsItemActive();  // the focus comes a frame later
    return is_put;
  }

  const char* label_;
  const char* hint_;
  char text_[128] = {};
  bool focuses_ = false;
  bool selects_ = false;
  std::uint64_t version_ = 0;
};

}  // namespace kymo::panel
