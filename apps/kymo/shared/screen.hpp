// What stdout can show: its width and colours.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::command {

/// Looks of text on a terminal with colours.
enum class Style { plain, heading, soft, bar };

/// stdout as a screen. Not a terminal: no colours and no limit of width, so that nothing is cut in files and pipes.
struct Screen {
  bool is_terminal = false;
  std::size_t width = static_cast<std::size_t>(-1);  ///< in columns
  bool has_colours = false;                          ///< a terminal, unless NO_COLOR is set or TERM is "dumb"
};

[[nodiscard]] const Screen& screen();

/// A printable text in a style; unchanged where there are no colours.
[[nodiscard]] std::string styled(std::string_view text, Style style);

/// A text broken at spaces into lines of so many columns at most.
[[nodiscard]] std::vector<std::string_view> wrapped(std::string_view text, std::size_t width);

/// Prints a printable text on stdout, broken at spaces so that no line is wider than the screen; each line is indented.
void print_wrapped(std::string_view text, Style style = Style::plain, std::size_t indent = 0);

}  // namespace kymo::command
