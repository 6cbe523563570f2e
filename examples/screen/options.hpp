// The options shared by the examples with a screen.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace example {

struct ScreenOptions {
  unsigned frames = 0;     ///< number to draw; 0: until the window is closed
  std::string screenshot;  ///< path of a picture to draw instead of opening a window; empty: a window
  std::vector<std::string> paths;
  bool wants_help = false;
};

/// Returns nothing, after a message on stderr, for invalid arguments.
[[nodiscard]] std::optional<ScreenOptions> parse_screen_options(const char* program, int count, char** arguments);

}  // namespace example
