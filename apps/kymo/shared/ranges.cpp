// Parses ranges and durations from command lines.
#include "apps/kymo/shared/ranges.hpp"

#include <array>
#include <cmath>

namespace kymo::command {

std::optional<std::pair<std::string_view, std::string_view>> split_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    return std::pair(text, text);
  }
  if (text.find("..", dots + 1) != std::string_view::npos || text.size() == 2) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, dots), text.substr(dots + 2));
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, double>, 7> units{
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"s", 1e9}, {"h", 3600e9}, {"", 1e9}}};
  for (const auto& [unit, size_ns] : units) {
    if (text.size() > unit.size() && text.substr(text.size() - unit.size()) == unit) {
      const auto number = parse_number<double>(text.substr(0, text.size() - unit.size()));
      const double duration_ns = number ? std::round(*number * size_ns) : -1.0;
      // Up to some 146 years.
      return duration_ns >= 0 && duration_ns < 4.6e18 ? std::optional(static_cast<std::int64_t>(duration_ns))
                                                      : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<RelativeRange> parse_time(const std::string& text) {
  const auto ends = split_range(text);
  if (!ends || text.find("..") == std::string::npos) {
    return std::nullopt;
  }
  RelativeRange range;
  const auto start_ns = parse_duration(ends->first);
  range.end_ns = parse_duration(ends->second);
  if ((!start_ns && !ends->first.empty()) || (!range.end_ns && !ends->second.empty())) {
    return std::nullopt;
  }
  range.start_ns = start_ns.value_or(0);
  return !range.end_ns || range.start_ns < *range.end_ns ? std::optional(range) : std::nullopt;
}

std::optional<FrameRange> parse_frames(const std::string& text) {
  const auto ends = split_range(text);
  if (!ends) {
    return std::nullopt;
  }
  FrameRange range;
  const auto first = parse_number<FrameNumber>(ends->first);
  const auto last = parse_number<FrameNumber>(ends->second);
  if ((!first && !ends->first.empty()) || (!last && !ends->second.empty())) {
    return std::nullopt;
  }
  range.first = first.value_or(range.first);
  range.last = last.value_or(range.last);
  return range.first >= 1 && range.first <= range.last ? std::optional(range) : std::nullopt;
}

}  // namespace kymo::command
