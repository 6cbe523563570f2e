// What stdout can show.
#include "apps/kymo/shared/screen.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "apps/kymo/shared/units.hpp"

namespace kymo::command {

namespace {

constexpr std::size_t narrowest = 20;

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

Screen look() {
  Screen found;
  if (::isatty(STDOUT_FILENO) != 1) {
    return found;
  }
  found.is_terminal = true;
  winsize window{};
  const bool is_known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col != 0;
  found.width = is_known ? std::max<std::size_t>(window.ws_col, narrowest) : 80;
  const char* const terminal = std::getenv("TERM");
  found.has_colours = !is_set("NO_COLOR") && terminal != nullptr && std::string_view(terminal) != "dumb";
  return found;
}

}  // namespace

const Screen& screen() {
  static const Screen found = look();
  return found;
}

std::string styled(std::string_view text, Style style) {
  static constexpr std::array<std::string_view, 4> codes{"", "1", "2", "36"};
  const std::string_view code = codes[static_cast<std::size_t>(style)];
  return code.empty() || text.empty() || !screen().has_colours ? std::string(text)
                                                               : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::vector<std::string_view> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string_view> lines;
  while (width_of(text) > width) {
    std::size_t columns = 0;
    std::size_t end = 0;
    std::size_t space = 0;
    for (; end < text.size(); ++end) {
      columns += (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U ? 1U : 0U;
      if (columns > width) {
        break;
      }
      space = text[end] == ' ' ? end : space;
    }
    space = text[end] == ' ' ? end : space;
    const std::size_t cut = space != 0 ? space : end;
    lines.push_back(text.substr(0, cut));
    text.remove_prefix(cut + (space != 0 ? 1 : 0));
  }
  lines.push_back(text);
  return lines;
}

void print_wrapped(std::string_view text, Style style, std::size_t indent) {
  for (const std::string_view line : wrapped(text, screen().width - std::min(indent, screen().width - 1))) {
    fmt::print("{:{}}{}\n", "", indent, styled(line, style));
  }
}

}  // namespace kymo::command
