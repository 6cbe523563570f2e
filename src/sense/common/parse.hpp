// Parsers for proc and sysfs. They distrust every text: numbers that are too long, missing or garbage are reported,
// never guessed.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/text/ascii.hpp"

namespace kymo::sense {

[[nodiscard]] constexpr bool is_blank(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r' || character == '\0';
}

/// Reads a text from front to back.
class TextCursor {
 public:
  explicit constexpr TextCursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  /// The next line without its line break.
  std::string_view line() {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return line;
  }

  /// The next blank-separated word; empty at the end.
  std::string_view word() {
    skip_blanks();
    std::size_t size = 0;
    while (size < rest_.size() && !is_blank(rest_[size])) {
      ++size;
    }
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }

  /// The next non-negative integer. Returns nothing and stays in place if there is none or it exceeds 64 bits.
  std::optional<std::uint64_t> number() {
    skip_blanks();
    std::uint64_t value = 0;
    std::size_t size = 0;
    while (size < rest_.size() && base::is_digit(rest_[size])) {
      const auto digit = static_cast<std::uint64_t>(rest_[size] - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) {
        return std::nullopt;
      }
      value = value * 10 + digit;
      ++size;
    }
    if (size == 0) {
      return std::nullopt;
    }
    rest_.remove_prefix(size);
    return value;
  }

  /// Skips a text at the current position. Returns whether it was there.
  bool skip(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) {
      return false;
    }
    rest_.remove_prefix(text.size());
    return true;
  }

  void skip_blanks() {
    std::size_t size = 0;
    while (size < rest_.size() && is_blank(rest_[size])) {
      ++size;
    }
    rest_.remove_prefix(size);
  }

 private:
  std::string_view rest_;
};

/// Parses a text that is a single decimal number with surrounding blanks; accepts signs and fractions. False for
/// anything else.
[[nodiscard]] inline bool parse_whole_number(std::string_view text, double& value) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  double parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed, std::chars_format::fixed);
  const bool is_sound = error == std::errc() && end == text.data() + text.size() && parsed - parsed == 0;
  if (is_sound) {
    value = parsed;
  }
  return is_sound;
}

/// The text without surrounding blanks.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace kymo::sense
