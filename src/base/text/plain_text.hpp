// Text from captures and files, made harmless for terminals.
#pragma once

#include <string>
#include <string_view>

#include "base/text/escapes.hpp"
#include "base/text/text.hpp"

namespace kymo::base {

/// Whether a text begins with a control character: C0, DEL, or one of C1 (U+0080 to U+009F), which terminals obey too.
[[nodiscard]] constexpr bool begins_with_control(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  return first < 0x20 || first == 0x7F ||
         (first == 0xC2 && text.size() > 1 && (static_cast<unsigned char>(text[1]) & 0xE0U) == 0x80U);
}

/// Appends valid UTF-8: control characters as "\x1b", except those of `kept`, and U+FFFD for what is not UTF-8.
inline void append_plain_text(std::string& out, std::string_view text, std::string_view kept = {}) {
  while (!text.empty()) {
    const Utf8Sequence sequence = look_at_utf8(text);
    if (!sequence.is_valid) {
      out += "\xEF\xBF\xBD";
    } else if (begins_with_control(text) && kept.find(text.front()) == kept.npos) {
      const auto code = static_cast<unsigned char>(text[sequence.size - 1]);  // also of U+0080 to U+009F
      out += "\\x";
      out += hex_digits[code >> 4U];
      out += hex_digits[code & 0xFU];
    } else {
      out += text.substr(0, sequence.size);
    }
    text.remove_prefix(sequence.size);
  }
}

}  // namespace kymo::base
