// Uses the browser's own font: draws its glyphs on a canvas and copies them into Dear ImGui's atlas. Text then looks as
// in the rest of the page at any pixel density, and the page needs no font of its own.
#include "glyphs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <imgui.h>

#include "browser.hpp"

namespace kymo::web {

namespace {

struct Characters {
  unsigned first;
  unsigned last;
};

// Latin, Greek, Cyrillic, punctuation, currency signs and arrows.
constexpr Characters wanted[] = {{0x20, 0x7e},     {0xa0, 0x17f},    {0x370, 0x3ff},   {0x400, 0x45f},
                                 {0x2010, 0x2027}, {0x2030, 0x203a}, {0x20a0, 0x20bf}, {0x2190, 0x2193},
                                 {0x2212, 0x2212}, {0xfffd, 0xfffd}};

}  // namespace

void use_browser_font(float line_pixels) {
  std::vector<std::uint16_t> characters;
  for (const Characters& range : wanted) {
    for (unsigned character = range.first; character <= range.last; ++character) {
      characters.push_back(static_cast<std::uint16_t>(character));
    }
  }
  const float letter_pixels = line_pixels * 0.8F;
  // With an empty border: glyphs at fractional positions blend in their neighbours in the atlas.
  const auto height = static_cast<std::uint32_t>(std::ceil(line_pixels)) + 2;
  const auto width = static_cast<std::uint32_t>(std::ceil(letter_pixels * 1.4F)) + 2;
  std::vector<std::uint8_t> cells(std::size_t{width} * height * characters.size());
  std::vector<float> advances(characters.size());
  draw_glyphs(characters, {width, height, letter_pixels, std::round(line_pixels * 0.77F) + 1}, cells, advances);

  // An atlas begins with its own font, of which only the blank is used.
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  atlas.Clear();
  static const ImWchar blank[] = {' ', ' ', 0};
  ImFontConfig config;
  config.SizePixels = line_pixels;
  config.GlyphRanges = blank;
  ImFont* const font = atlas.AddFontDefault(&config);
  font->EllipsisChar = 0x2026;  // the default font's own is not among the characters
  std::vector<int> places(characters.size());
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const int used = std::clamp(static_cast<int>(std::ceil(advances[i])) + 2, 1, static_cast<int>(width));
    places[i] = atlas.AddCustomRectFontGlyph(font, static_cast<ImWchar>(characters[i]), used, static_cast<int>(height),
                                             advances[i], ImVec2(-1, -1));
  }
  atlas.Build();
  unsigned char* pixels = nullptr;
  int atlas_width = 0;
  int atlas_height = 0;
  atlas.GetTexDataAsAlpha8(&pixels, &atlas_width, &atlas_height);
  for (std::size_t i = 0; i < characters.size(); ++i) {
    const ImFontAtlasCustomRect* const place = atlas.GetCustomRectByIndex(places[i]);
    for (std::size_t row = 0; row < place->Height; ++row) {
      std::memcpy(pixels + (place->Y + row) * static_cast<std::size_t>(atlas_width) + place->X,
                  cells.data() + (i * height + row) * width, place->Width);
    }
  }
}

}  // namespace kymo::web
