// A histogram in one line of a terminal.
#include "sketch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace kymo::command {

namespace {

constexpr std::size_t most_columns = 32;

/// Numbers of values by column.
std::vector<std::uint64_t> columns_of(const capture::Histogram& histogram) {
  using capture::Histogram;
  // No more columns than buckets, or some would stay empty.
  const std::size_t buckets =
      std::size_t{Histogram::index_of(histogram.max_ns())} - Histogram::index_of(histogram.min_ns()) + 1;
  std::vector<std::uint64_t> columns(std::min(most_columns, buckets));
  const double from = std::log1p(static_cast<double>(histogram.min_ns()));
  const double length = std::log1p(static_cast<double>(histogram.max_ns())) - from;
  histogram.for_each_bucket([&](const Histogram::Bucket& bucket) {
    const double middle = (static_cast<double>(std::max(bucket.lowest_ns, histogram.min_ns())) +
                           static_cast<double>(std::min(bucket.highest_ns, histogram.max_ns()))) /
                          2;
    const double place = length > 0 ? (std::log1p(middle) - from) / length * static_cast<double>(columns.size()) : 0;
    columns[std::min(columns.size() - 1, static_cast<std::size_t>(std::max(place, 0.0)))] += bucket.count;
  });
  return columns;
}

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
  static constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 9> plain{" ", ".", ":", "-", "=", "+", "*", "#", "@"};
  if (histogram.empty()) {
    return {};
  }
  const std::vector<std::uint64_t> columns = columns_of(histogram);
  const auto most = static_cast<double>(*std::max_element(columns.begin(), columns.end()));
  std::string line;
  for (const std::uint64_t count : columns) {
    const auto height = static_cast<std::size_t>(std::ceil(8 * static_cast<double>(count) / most));
    line += (in_utf8 ? blocks : plain)[std::min<std::size_t>(height, 8)];
  }
  return line;
}

}  // namespace kymo::command
