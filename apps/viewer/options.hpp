// The words of the viewer's command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../kymo/ranges.hpp"

namespace kymo::viewer {

enum class Theme : std::uint8_t { dark, light };

/// Pixels, or what stands for them on a screen.
struct Size {
  int width = 0;
  int height = 0;
};

struct Options {
  std::vector<std::string> paths;
  std::string screenshot;  ///< empty: a window
  bool is_forced = false;  ///< whatever is at the screenshot's path may be overwritten
  std::optional<Size> size;
  std::optional<Theme> theme;
  std::optional<float> scale;
  std::optional<std::int64_t> at_ns;  ///< since the recording's start
  std::optional<command::RelativeRange> time;
  bool shows_statistics = false;
  unsigned quit_after = 0;  ///< frames; 0: when the window is closed
};

/// The options, or the exit code where there is nothing more to do: after --help, or where they make no sense.
struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
};
[[nodiscard]] Parsed parse_options(int count, char** words);

/// "1280x720"; nothing where it makes no sense.
[[nodiscard]] std::optional<Size> parse_size(const std::string& text);

}  // namespace kymo::viewer
