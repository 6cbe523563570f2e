// Ranges and durations as words of a command line.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace kymo::command {

/// A stretch of time counted from the start of the recording.
struct RelativeRange {
  std::int64_t start_ns = 0;
  std::optional<std::int64_t> end_ns;
};

/// What is before and after "..", where there is exactly one; the text twice where there is none.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> split_range(std::string_view text);

/// A number and nothing else.
template <typename Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// "1.5s", "250ms", "3min", units ns, us, ms, s, min, h; a number without one is seconds.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);
/// "1.5s..2s", "250ms..", "..3min", as durations are written.
[[nodiscard]] std::optional<RelativeRange> parse_time(const std::string& text);

}  // namespace kymo::command
