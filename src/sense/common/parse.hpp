// Parsers for proc and sysfs. They distrust every text: numbers that are too long, missing or garbage are reported,
// never guessed.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text/ascii.hpp"

namespace kymo::sense {

[[nodiscard]] constexpr bool is_blank(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r' || character == '\0';
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

/// Reads a text from front to back.
class TextCursor {
 public:
  explicit constexpr TextCursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  /// The text up to the next mark, which is skipped, or to the end.
  std::string_view until(char mark) {
    const std::string_view text = rest_.substr(0, rest_.find(mark));
    rest_.remove_prefix(std::min(text.size() + 1, rest_.size()));
    return text;
  }

  /// The next line without its line break.
  std::string_view line() { return until('\n'); }

  /// The same; nothing at the end, or if the text was cut within the line.
  std::optional<std::string_view> whole_line() {
    const std::size_t size = rest_.size();
    const std::string_view next = line();
    return size - rest_.size() > next.size() ? std::optional(next) : std::nullopt;
  }

  /// The next blank-separated word; empty at the end.
  std::string_view word() {
    skip_blanks();
    return take(std::find_if(rest_.begin(), rest_.end(), is_blank));
  }

  /// The next non-negative integer. Returns nothing and stays in place if there is none or it exceeds 64 bits.
  std::optional<std::uint64_t> number() {
    skip_blanks();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) {
      return std::nullopt;
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  /// Skips a text at the current position. Returns whether it was there.
  bool skip(std::string_view text) {
    const bool is_there = rest_.starts_with(text);
    rest_.remove_prefix(is_there ? text.size() : 0);
    return is_there;
  }

  void skip_blanks() { take(std::find_if_not(rest_.begin(), rest_.end(), is_blank)); }

 private:
  std::string_view take(std::string_view::const_iterator end) {
    const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
};

/// Where a key is at the start of a line, from a position on; npos if no line has it.
[[nodiscard]] inline std::size_t find_line(std::string_view text, std::string_view key, std::size_t from = 0) {
  std::size_t at = text.find(key, from);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != '\n') {
    at = text.find(key, at + 1);
  }
  return at;
}

/// What follows a key at the start of a line, up to the line's end; nothing if no line has the key, or the text was cut
/// within the line.
[[nodiscard]] inline std::optional<TextCursor> behind_key(std::string_view text, std::string_view key) {
  const std::size_t at = find_line(text, key);
  if (at == std::string_view::npos || text.find('\n', at) == std::string_view::npos) {
    return std::nullopt;
  }
  return TextCursor(TextCursor(text.substr(at + key.size())).line());
}

/// Parses a text that is a single decimal number with surrounding blanks; accepts signs and fractions. False for
/// anything else.
[[nodiscard]] inline bool parse_whole_number(std::string_view text, double& value) {
  text = trimmed(text);
  double parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed, std::chars_format::fixed);
  const bool is_sound = error == std::errc() && end == text.data() + text.size() && parsed - parsed == 0;
  if (is_sound) {
    value = parsed;
  }
  return is_sound;
}

}  // namespace kymo::sense
