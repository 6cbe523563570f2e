// Kinds of ASCII characters, whatever the locale.
#pragma once

#include <string_view>

namespace kymo::base {

/// A byte, or a number that is none, such as -1 for the end of an input.
[[nodiscard]] constexpr bool is_digit(int character) noexcept {
  return character >= '0' && character <= '9';
}

[[nodiscard]] constexpr bool is_letter_or_digit(char character) noexcept {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || is_digit(character);
}

[[nodiscard]] constexpr char to_lower(char character) noexcept {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

/// Whether it is a letter, a digit or one of `marks`.
[[nodiscard]] constexpr bool is_letter_digit_or(std::string_view marks, char character) noexcept {
  return is_letter_or_digit(character) || marks.find(character) != std::string_view::npos;
}

}  // namespace kymo::base
