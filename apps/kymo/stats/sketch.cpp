// Draws a histogram in one line of text.
#include "apps/kymo/stats/sketch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "stats/statistics/site_figures.hpp"

namespace kymo::command {

namespace {

constexpr std::size_t most_columns = 32;

}  // namespace

bool speaks_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') {
      std::string locale(value);
      std::transform(locale.begin(), locale.end(), locale.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    }
  }
  return false;
}

std::string sketch(const capture::Histogram& histogram, bool in_utf8) {
  return histogram.empty() ? std::string() : sketch(stats::logarithmic_bars(histogram, most_columns), in_utf8);
}

std::string sketch(const std::vector<std::uint64_t>& columns, bool in_utf8) {
  static constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 9> plain{" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  if (columns.empty()) {
    return {};
  }
  const auto most = static_cast<double>(std::max<std::uint64_t>(*std::max_element(columns.begin(), columns.end()), 1));
  std::string line;
  for (const std::uint64_t count : columns) {
    const auto height = static_cast<std::size_t>(std::ceil(8 * static_cast<double>(count) / most));
    line += (in_utf8 ? blocks : plain)[std::min<std::size_t>(height, 8)];
  }
  return line;
}

}  // namespace kymo::command
