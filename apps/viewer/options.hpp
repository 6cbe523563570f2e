// The viewer's command line options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "apps/kymo/shared/ranges.hpp"
#include "panel/compare/alignment.hpp"

namespace kymo::viewer {

enum class Theme : std::uint8_t { dark, light };

/// Pixels, or the screen's units for them.
struct Size {
  int width = 0;
  int height = 0;
};

struct Options {
  std::vector<std::string> paths;
  std::string base;  ///< the capture that they are compared with; empty: none
  panel::Align align = panel::Align::start;
  std::string screenshot;  ///< empty: opens a window
  bool is_forced = false;  ///< the screenshot's path may be overwritten, whatever it holds
  std::optional<Size> size;
  std::optional<Theme> theme;
  std::optional<float> scale;
  std::optional<std::int64_t> at_ns;  ///< since the recording's start
  std::optional<FrameNumber> frame;   ///< to pin
  std::optional<command::RelativeRange> time;
  std::string tab;          ///< its word (panel::word_of); empty: none
  bool is_damaged = false;  ///< `kymo view` found captures damaged, and has said so
  unsigned quit_after = 0;  ///< frames; 0: when the window is closed
};

/// The options, or the exit code if nothing remains to be done: after --help, or for invalid options.
struct Parsed {
  std::optional<Options> options;
  int exit_code = 0;
};
[[nodiscard]] Parsed parse_options(int count, char** words);

/// Parses "1280x720"; returns nothing for other texts.
[[nodiscard]] std::optional<Size> parse_size(const std::string& text);

}  // namespace kymo::viewer
