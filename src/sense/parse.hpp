// Parsing by hand of what proc and sysfs say. Every text is hostile: numbers that are too long, missing or garbage are
// said to be so, never guessed.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace kymo::sense {

/// A digit in any locale.
[[nodiscard]] constexpr bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

[[nodiscard]] constexpr bool is_blank(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r' || character == '\0';
}

/// Walks through a text.
class TextCursor {
 public:
  explicit constexpr TextCursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  /// The next line without its end.
  std::string_view line() {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return line;
  }

  /// The next word between blanks; empty at the end.
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

  /// The next whole number that is not negative. Nothing, and the cursor stays, where another thing stands there or the
  /// number is beyond 64 bits.
  std::optional<std::uint64_t> number() {
    skip_blanks();
    std::uint64_t value = 0;
    std::size_t size = 0;
    while (size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9') {
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

  /// Steps over a text that stands here; whether it did.
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

/// A text that is one decimal number with blanks around it, signs and fractions included. False for anything else.
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

/// Text without the blanks at its ends.
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
