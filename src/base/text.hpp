// Texts from outside, cut to a length.
#pragma once

#include <cstddef>
#include <string_view>

namespace kymo::base {

/// The longest prefix of at most `limit` bytes that does not end inside a UTF-8 sequence.
[[nodiscard]] constexpr std::string_view cut_text(std::string_view text, std::size_t limit) noexcept {
  if (text.size() <= limit) {
    return text;
  }
  std::size_t size = limit;
  // A sequence has at most three continuation bytes; more of them is not UTF-8 and is cut where it falls.
  for (int back = 0; back < 3 && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U; ++back) {
    --size;
  }
  if ((static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
    size = limit;
  }
  return text.substr(0, size);
}

/// Ends every text that was cut: U+2026, horizontal ellipsis.
inline constexpr std::string_view cut_mark = "\xE2\x80\xA6";

}  // namespace kymo::base
