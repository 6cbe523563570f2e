// The options that the examples with a screen share.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace example {

struct ScreenOptions {
  unsigned frames = 0;     ///< to draw; 0: until the window is closed
  std::string screenshot;  ///< where a picture goes instead of a window; empty: a window
  std::vector<std::string> paths;
  bool wants_help = false;
};

/// Nothing, and a message on stderr, where the arguments are not understood.
[[nodiscard]] std::optional<ScreenOptions> parse_screen_options(const char* program, int count, char** arguments);

}  // namespace example
