// Sets fonts and colours of the current ImGui context.
#include "look.hpp"

#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <imgui.h>

#include "panel/draw/style.hpp"

namespace kymo::viewer {

namespace {

/// The characters of names in most alphabets, and symbols. More would slow down every start.
constexpr std::array<ImWchar, 13> glyph_ranges{0x0020, 0x024F, 0x0370, 0x052F, 0x2010, 0x2027, 0x2030,
                                               0x205E, 0x2070, 0x20BF, 0x2190, 0x22FF, 0};

/// Common paths of a readable font. If there is none, ImGui's own font is used.
constexpr std::array<const char*, 6> font_files{"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                                                "/usr/share/fonts/TTF/DejaVuSans.ttf",
                                                "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
                                                "/usr/share/fonts/dejavu/DejaVuSans.ttf",
                                                "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
                                                "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf"};

void load_font(float scale) {
  ImFontAtlas& fonts = *ImGui::GetIO().Fonts;
  fonts.Clear();
  const float size = std::round(panel::text_pixels * scale);
  for (const char* const path : font_files) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored) &&
        fonts.AddFontFromFileTTF(path, size, nullptr, glyph_ranges.data()) != nullptr) {
      return;
    }
  }
  ImFontConfig config;
  config.SizePixels = std::round(13 * scale);
  fonts.AddFontDefault(&config);
}

}  // namespace

void set_look(Theme theme, float scale) {
  panel::use_style(theme == Theme::light, scale);
  load_font(scale);
}

}  // namespace kymo::viewer
