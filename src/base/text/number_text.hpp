// Numbers as text.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace kymo::base {

/// Appends the shortest text that reads back as the same value. The value must be finite.
void append_shortest_number(std::string& out, double value);

/// The decimal integer that is all of a text; nothing for other texts, or if it does not fit.
template <typename Integer>
[[nodiscard]] std::optional<Integer> parse_integer(std::string_view text) {
  Integer number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace kymo::base
