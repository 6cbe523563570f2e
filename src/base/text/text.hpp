// Examines external text, and cuts it to a length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kymo::base {

/// The longest prefix of at most `limit` bytes that does not end inside a UTF-8 sequence.
[[nodiscard]] constexpr std::string_view cut_text(std::string_view text, std::size_t limit) noexcept {
  if (text.size() <= limit) {
    return text;
  }
  std::size_t size = limit;
  // A sequence has at most three continuation bytes; text with more is not UTF-8 and is cut at the limit.
  for (int back = 0; back < 3 && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U; ++back) {
    --size;
  }
  if ((static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
    size = limit;
  }
  return text.substr(0, size);
}

/// Appended to every cut text: U+2026, horizontal ellipsis.
inline constexpr std::string_view cut_mark = "\xE2\x80\xA6";

/// The result of examining bytes that should begin a UTF-8 sequence.
struct Utf8Sequence {
  std::size_t size = 1;  ///< a whole sequence, or the maximal piece of a broken one
  bool is_valid = false;
};

/// Examines the sequence at the front of a text that is not empty. After E0, ED, F0 and F4 the second byte has a
/// narrower range, which excludes overlong forms, surrogates and code points above U+10FFFF.
[[nodiscard]] constexpr Utf8Sequence look_at_utf8(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  std::size_t size = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first < 0x80) {
    return {1, true};
  }
  if (first >= 0xC2 && first <= 0xDF) {
    size = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    size = 3;
    low = first == 0xE0 ? 0xA0 : 0x80;
    high = first == 0xED ? 0x9F : 0xBF;
  } else if (first >= 0xF0 && first <= 0xF4) {
    size = 4;
    low = first == 0xF0 ? 0x90 : 0x80;
    high = first == 0xF4 ? 0x8F : 0xBF;
  } else {
    return {};
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) {
      return {i, false};
    }
    low = 0x80;
    high = 0xBF;
  }
  return {size, true};
}

/// A character that a terminal or a browser obeys instead of showing it.
struct ControlCharacter {
  std::uint32_t code = 0;
  std::size_t size = 0;  ///< in bytes; 0: it is none
};

/// Examines the front of a text that is not empty. Control characters are C0, DEL, C1 (U+0080 to U+009F), and those
/// that change the order in which a line is shown (Unicode Standard Annex #9: U+202A to U+202E, U+2066 to U+2069).
[[nodiscard]] constexpr ControlCharacter look_at_control(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) < 0x20 || byte(0) == 0x7F) {
    return {byte(0), 1};
  }
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) <= 0x9F) {
    return {byte(1), 2};
  }
  const bool embeds = byte(0) == 0xE2 && byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE;
  const bool isolates = byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
  if (embeds || isolates) {
    return {0x2000U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU), 3};
  }
  return {};
}

}  // namespace kymo::base
