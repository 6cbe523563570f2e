// Stores the window's layout in $XDG_CONFIG_HOME/kymo/viewer.ini. Lines of text: kymo's own section, then Dear ImGui's
// tables.
//
//     [kymo][window]
//     place=100,50
//     size=1600,900
//     maximised=0
//     theme=dark
//     recent=/home/me/run.kymo
//
// The file is not trusted: invalid lines are ignored.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace kymo::viewer {

struct Layout {
  std::optional<Size> size;
  std::optional<Size> place;  ///< of the window's upper left corner
  bool is_maximised = false;
  std::optional<Theme> theme;
  std::vector<std::string> recent;  ///< captures, the last one first; absolute paths of one line
  std::string imgui;                ///< for ImGui::LoadIniSettingsFromMemory; always safe, whatever the file held
};

/// The layout's path; empty if there is no place for it.
[[nodiscard]] std::string layout_path();

[[nodiscard]] Layout parse_layout(std::string_view text);
[[nodiscard]] std::string format_layout(const Layout& layout);

/// Reads a layout from a file; an empty one if it cannot be read.
[[nodiscard]] Layout read_layout(const std::string& path);
/// Replaces the file. Ignores errors: losing a layout does not justify a message.
void write_layout(const std::string& path, const Layout& layout);

}  // namespace kymo::viewer
