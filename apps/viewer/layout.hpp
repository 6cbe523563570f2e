// How the window looked the last time: $XDG_CONFIG_HOME/kymo/viewer.ini. Lines of text: a section of our own, then what
// Dear ImGui keeps of tables.
//
//     [kymo][window]
//     place=100,50
//     size=1600,900
//     maximised=0
//     theme=dark
//
// Anybody may have written to it: what is not as it should be is left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "options.hpp"

namespace kymo::viewer {

struct Layout {
  std::optional<Size> size;
  std::optional<Size> place;  ///< of the window's upper left corner
  bool is_maximised = false;
  std::optional<Theme> theme;
  std::string imgui;  ///< for ImGui::LoadIniSettingsFromMemory: harmless whatever the file held
};

/// Where the layout is kept; empty where there is no place for it.
[[nodiscard]] std::string layout_path();

[[nodiscard]] Layout parse_layout(std::string_view text);
[[nodiscard]] std::string format_layout(const Layout& layout);

/// The layout of a file; an empty one where it cannot be read.
[[nodiscard]] Layout read_layout(const std::string& path);
/// Puts it in the place of the file's old one. Does nothing where that cannot be: a layout is not worth a complaint.
void write_layout(const std::string& path, const Layout& layout);

}  // namespace kymo::viewer
