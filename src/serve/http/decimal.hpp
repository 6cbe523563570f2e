// Numbers in requests.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace kymo::serve {

/// Parses a text of digits only as a 64-bit number; nothing for other texts.
[[nodiscard]] inline std::optional<std::uint64_t> parse_decimal(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

}  // namespace kymo::serve
