// Draws on a window's draw list within the limits of 16-bit indices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "panel/draw/imgui.hpp"

namespace kymo::panel {

/// A rectangle on the screen.
struct Area {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;
  [[nodiscard]] float width() const { return right - left; }
  [[nodiscard]] float height() const { return bottom - top; }
};

/// Prints unformatted text on the current line of the current window.
inline void say(const std::string& text) {
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
}

/// Where the current window's last item is.
[[nodiscard]] inline Area last_item() {
  const ImVec2 least = ImGui::GetItemRectMin();
  const ImVec2 most = ImGui::GetItemRectMax();
  return {least.x, least.y, most.x, most.y};
}

/// From the cursor to the end of the current window.
[[nodiscard]] inline Area rest_of_window() {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  return {at.x, at.y, at.x + room.x, at.y + room.y};
}

[[nodiscard]] inline float text_width(const std::string& text) {
  return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
}

/// Draws on one draw list. Beyond most_vertices nothing more is drawn: a renderer without vertex offsets can draw
/// 65,536 per list, and the remainder is for scroll bars and borders.
class Canvas {
 public:
  static constexpr int most_vertices = 60000;

  explicit Canvas(ImDrawList* list) : list_(list) {}

  void fill(float left, float top, float right, float bottom, ImU32 colour) {
    if (has_room(4)) {
      list_->AddRectFilled(ImVec2(left, top), ImVec2(right, bottom), colour);
    }
  }
  /// Stripes across a box, which mark it independently of its colour.
  void stripes(float left, float top, float right, float bottom, ImU32 colour);
  /// A one-pixel line with a head at its end.
  void arrow(ImVec2 from, ImVec2 to, float head, ImU32 colour);
  void diamond(float x, float y, float radius, ImU32 colour) {
    if (has_room(4)) {
      list_->AddQuadFilled(ImVec2(x, y - radius), ImVec2(x + radius, y), ImVec2(x, y + radius), ImVec2(x - radius, y),
                           colour);
    }
  }
  void outline(float left, float top, float right, float bottom, ImU32 colour, float thickness) {
    fill(left, top, right, top + thickness, colour);
    fill(left, bottom - thickness, right, bottom, colour);
    fill(left, top, left + thickness, bottom, colour);
    fill(right - thickness, top, right, bottom, colour);
  }
  /// Clean text (clean_text); what is wider than the width ends in three dots, if a letter fits
  /// before them. Returns whether any of it was drawn.
  bool text(float left, float top, float width, ImU32 colour, std::string_view text);

  /// Many boxes at once, for which the list makes room once. Nothing else is drawn on it until they are finished.
  class Boxes {
   public:
    Boxes(ImDrawList* list, std::size_t most)
        : list_(list),
          left_(std::min(static_cast<int>(std::min<std::size_t>(most, most_vertices)),
                         std::max(most_vertices - list->VtxBuffer.Size, 0) / 4)) {
      list_->PrimReserve(left_ * 6, left_ * 4);
    }
    Boxes(const Boxes&) = delete;
    Boxes& operator=(const Boxes&) = delete;
    ~Boxes() { finish(); }

    void fill(float left, float top, float right, float bottom, ImU32 colour) {
      if (left_ > 0) {
        --left_;
        list_->PrimRect(ImVec2(left, top), ImVec2(right, bottom), colour);
      }
    }

    /// Gives back what was not used; then the list may be drawn on again.
    void finish() {
      list_->PrimUnreserve(left_ * 6, left_ * 4);
      left_ = 0;
    }

   private:
    ImDrawList* list_;
    int left_;
  };
  [[nodiscard]] Boxes boxes(std::size_t most) { return {list_, most}; }

 private:
  [[nodiscard]] bool has_room(int vertices) const { return list_->VtxBuffer.Size + vertices < most_vertices; }

  ImDrawList* list_;
};

}  // namespace kymo::panel
