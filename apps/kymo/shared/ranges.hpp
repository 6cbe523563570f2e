// Parses ranges and durations from command lines.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <kymo/statistics.hpp>

namespace kymo::command {

/// A range of times since the start of the recording.
struct RelativeRange {
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
};

/// The parts before and after "..", if it occurs exactly once; the whole text twice if it does not occur.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_range(std::string_view text);

/// Parses a text that is exactly one number.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// "1.5s", "250ms", "3min", with units ns, us, ms, s, min, h. A number without a unit is in seconds.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);
/// "1.5s..2s", "250ms..", "..3min", with durations as above.
[[nodiscard]] std::optional<RelativeRange> parse_time(const std::string& text);
/// "10..20", "10..", "..20", "7". Returns nothing for other texts.
[[nodiscard]] std::optional<FrameRange> parse_frames(const std::string& text);

}  // namespace kymo::command
