// Draws within the limits of 16-bit indices.
#include "panel/draw/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kymo::panel {

bool Canvas::text(float left, float top, float width, ImU32 colour, std::string_view text) {
  const float size = ImGui::GetFontSize();
  if (text.empty() || width < size * 0.5F) {
    return false;
  }
  // At most as many characters as fit if all were as narrow as an 'i'.
  const auto most = static_cast<std::size_t>(width / (size * 0.2F)) + 1;
  std::size_t shown = std::min(most, text.size());
  while (shown < text.size() && (static_cast<unsigned char>(text[shown]) & 0xC0U) == 0x80U) {
    ++shown;
  }
  if (!has_room(4 * static_cast<int>(shown + 3))) {
    return false;
  }
  ImFont* const font = ImGui::GetFont();
  const ImVec4 clip(left, top, left + width, top + size * 1.5F);
  const char* const end = text.data() + shown;
  const char* cut = nullptr;
  static_cast<void>(font->CalcTextSizeA(size, width, 0.0F, text.data(), end, &cut));
  if (cut == end && shown == text.size()) {
    list_->AddText(font, size, ImVec2(left, top), colour, text.data(), end, 0.0F, &clip);
    return true;
  }
  constexpr std::string_view dots = "...";
  const float room = width - font->CalcTextSizeA(size, width, 0.0F, dots.data(), dots.data() + dots.size()).x;
  const float kept = font->CalcTextSizeA(size, std::max(room, 0.0F), 0.0F, text.data(), end, &cut).x;
  if (room < 0 || cut == text.data()) {
    return false;  // what is left without dots would look like another name
  }
  list_->AddText(font, size, ImVec2(left, top), colour, text.data(), cut, 0.0F, &clip);
  list_->AddText(font, size, ImVec2(left + kept, top), colour, dots.data(), dots.data() + dots.size(), 0.0F, &clip);
  return true;
}

void Canvas::stripes(float left, float top, float right, float bottom, ImU32 colour) {
  constexpr float distance = 6;
  const float lean = (bottom - top) / 2;
  for (float x = left; x + lean + 1 < right && has_room(8); x += distance) {
    list_->AddQuadFilled(ImVec2(x + lean, top), ImVec2(x + lean + 1.5F, top), ImVec2(x + 1.5F, bottom),
                         ImVec2(x, bottom), colour);
  }
}

void Canvas::arrow(ImVec2 from, ImVec2 to, float head, ImU32 colour) {
  constexpr int most = 16;  // with antialiased edges
  if (!has_room(most)) {
    return;
  }
  const float across = to.x - from.x;
  const float down = to.y - from.y;
  const float length = std::max(std::sqrt(across * across + down * down), 1.0F);
  const float x = across / length * head;
  const float y = down / length * head;
  list_->AddLine(from, to, colour, 1.0F);
  list_->AddTriangleFilled(to, ImVec2(to.x - x - y / 2, to.y - y + x / 2), ImVec2(to.x - x + y / 2, to.y - y - x / 2),
                           colour);
}

}  // namespace kymo::panel
