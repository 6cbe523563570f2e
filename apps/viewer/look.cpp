// Sets fonts and colours of the current ImGui context.
#include "look.hpp"

#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <imgui.h>

namespace kymo::viewer {

namespace {

constexpr float font_pixels = 15;

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
  const float size = std::round(font_pixels * scale);
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
  ImGuiStyle style;
  if (theme == Theme::light) {
    ImGui::StyleColorsLight(&style);
    style.Colors[ImGuiCol_WindowBg] = ImVec4(0.97F, 0.97F, 0.98F, 1);
    style.Colors[ImGuiCol_PopupBg] = ImVec4(1, 1, 1, 1);
  } else {
    ImGui::StyleColorsDark(&style);
    style.Colors[ImGuiCol_WindowBg] = ImVec4(0.09F, 0.10F, 0.12F, 1);
    style.Colors[ImGuiCol_PopupBg] = ImVec4(0.13F, 0.14F, 0.17F, 1);
  }
  style.WindowRounding = 0;
  style.WindowBorderSize = 0;
  style.FrameRounding = 3;
  style.PopupRounding = 3;
  style.GrabRounding = 3;
  style.ScaleAllSizes(scale);
  ImGui::GetStyle() = style;
  load_font(scale);
}

}  // namespace kymo::viewer
