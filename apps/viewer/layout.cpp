// Stores the window's layout.
#include "layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/output/replacing_file.hpp"

namespace kymo::viewer {

namespace {

constexpr std::size_t most_bytes = 65536;

/// Removes a prefix of a text. Returns whether it was there.
bool skip(std::string_view& text, std::string_view start) {
  if (text.substr(0, start.size()) != start) {
    return false;
  }
  text.remove_prefix(start.size());
  return true;
}

/// Parses "12,34", each number from `least` to 20000.
std::optional<Size> parse_pair(std::string_view text, int least) {
  constexpr int most = 20000;
  const std::size_t comma = std::min(text.find(','), text.size());
  const auto first = command::parse_number<int>(text.substr(0, comma));
  const auto second = command::parse_number<int>(text.substr(std::min(comma + 1, text.size())));
  if (!first || !second || *first < least || *second < least || *first > most || *second > most) {
    return std::nullopt;
  }
  return Size{*first, *second};
}

void parse_own_line(std::string_view line, Layout& layout) {
  constexpr int least_size = 64;
  constexpr int least_place = -20000;
  if (skip(line, "size=")) {
    layout.size = parse_pair(line, least_size);
  } else if (skip(line, "place=")) {
    layout.place = parse_pair(line, least_place);
  } else if (skip(line, "maximised=")) {
    layout.is_maximised = line == "1";
  } else if (skip(line, "recent=")) {
    constexpr std::size_t most_recent = 10;
    if (layout.recent.size() < most_recent && line.substr(0, 1) == "/") {
      layout.recent.emplace_back(line);
    }
  } else if (line == "theme=light") {
    layout.theme = Theme::light;
  } else if (line == "theme=dark") {
    layout.theme = Theme::dark;
  }
}

/// Whether a text is a number whose integer part is from `least` to `most`. Decimals are allowed unless `is_whole`.
bool is_between(std::string_view text, int least, int most, bool is_whole) {
  constexpr std::size_t most_decimals = 6;
  const std::size_t point = is_whole ? text.size() : std::min(text.find('.'), text.size());
  const std::string_view decimals = text.substr(std::min(point + 1, text.size()));
  const auto value = command::parse_number<int>(text.substr(0, point));
  return value && text.front() != '-' && *value >= least && *value <= most && decimals.size() <= most_decimals &&
         decimals.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Parses "[Table][0xAABBCCDD,9]". Returns the number of columns, for which ImGui allocates memory, or 0.
int parse_table(std::string_view line) {
  constexpr int most_columns = 64;
  if (!skip(line, "[Table][0x") || line.size() < 9 ||
      line.substr(0, 8).find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos || line.back() != ']') {
    return 0;
  }
  line.remove_prefix(8);
  line.remove_suffix(1);
  const auto columns = skip(line, ",") ? command::parse_number<int>(line) : std::nullopt;
  return columns && *columns >= 1 && *columns <= most_columns ? *columns : 0;
}

/// "Weight=1.5000", "Order=2", "Sort=0v". ImGui uses orders as indices without checking their range.
bool is_column_fact(std::string_view word, int columns) {
  constexpr int most_pixels = 20000;
  constexpr int most_weight = 9999;
  if (skip(word, "Width=")) {
    return is_between(word, 1, most_pixels, true);
  }
  if (skip(word, "Weight=")) {
    return is_between(word, 0, most_weight, false) && word.find_first_of("123456789") != std::string_view::npos;
  }
  if (skip(word, "Visible=")) {
    return is_between(word, 0, 1, true);
  }
  if (skip(word, "Order=")) {
    return is_between(word, 0, columns - 1, true);
  }
  if (skip(word, "Sort=") && !word.empty() && (word.back() == 'v' || word.back() == '^')) {
    return is_between(word.substr(0, word.size() - 1), 0, columns - 1, true);
  }
  return false;
}

/// "RefScale=15", or "Column 0  Weight=1.5000 Sort=0v": lines that ImGui writes for a table, limited to values that it
/// can handle.
bool is_table_line(std::string_view line, int columns) {
  constexpr int least_font = 4;
  constexpr int most_font = 512;
  if (skip(line, "RefScale=")) {
    return is_between(line, least_font, most_font, false);
  }
  if (!skip(line, "Column ")) {
    return false;
  }
  for (bool is_first = true; !line.empty(); is_first = false) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
    if (is_first ? !is_between(word, 0, columns - 1, true) : !is_column_fact(word, columns)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string layout_path() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') {
    return std::string(config) + "/kymo/viewer.ini";
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.config/kymo/viewer.ini" : std::string();
}

Layout parse_layout(std::string_view text) {
  Layout layout;
  bool is_own = false;
  int columns = 0;  // of the current table
  text = text.substr(0, most_bytes);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.substr(0, 1) == "[") {
      is_own = line == "[kymo][window]";
      columns = parse_table(line);
    } else if (is_own) {
      parse_own_line(line, layout);
    }
    if (columns != 0 && (line.substr(0, 1) == "[" || is_table_line(line, columns))) {
      layout.imgui.append(line).append("\n");
    }
  }
  return layout;
}

std::string format_layout(const Layout& layout) {
  const auto pair_of = [](const char* name, const std::optional<Size>& pair) {
    return pair ? std::string(name) + std::to_string(pair->width) + "," + std::to_string(pair->height) + "\n"
                : std::string();
  };
  std::string text = "[kymo][window]\n" + pair_of("place=", layout.place) + pair_of("size=", layout.size);
  text += layout.is_maximised ? "maximised=1\n" : "maximised=0\n";
  text += !layout.theme ? "" : *layout.theme == Theme::light ? "theme=light\n" : "theme=dark\n";
  for (const std::string& path : layout.recent) {
    text += path.find('\n') == std::string::npos ? "recent=" + path + "\n" : "";
  }
  return text + "\n" + layout.imgui;
}

Layout read_layout(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) {
    return {};
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return parse_layout(std::string_view(text).substr(0, static_cast<std::size_t>(file.gcount())));
}

void write_layout(const std::string& path, const Layout& layout) {
  if (path.empty()) {
    return;
  }
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    base::replace_file(path, {{}, true, {}}, [&layout](base::OutputFile file) {
      file.buffer() = format_layout(layout);
      file.close();
    });
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace kymo::viewer
