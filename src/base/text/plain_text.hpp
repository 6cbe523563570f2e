// Text from captures and files, made harmless for terminals.
#pragma once

#include <string>
#include <string_view>

#include "base/text/escapes.hpp"
#include "base/text/text.hpp"

namespace kymo::base {

/// Appends valid UTF-8: control characters as "\x1b" or "\u202e", except those of `kept`, and U+FFFD for what is not
/// UTF-8.
inline void append_plain_text(std::string& out, std::string_view text, std::string_view kept = {}) {
  while (!text.empty()) {
    const Utf8Sequence sequence = look_at_utf8(text);
    if (!sequence.is_valid) {
      out += "\xEF\xBF\xBD";
    } else if (const auto [code, size] = look_at_control(text); size != 0 && kept.find(text.front()) == kept.npos) {
      out += code > 0xFF ? "\\u" : "\\x";
      append_hex(out, code, code > 0xFF ? 4 : 2);
    } else {
      out += text.substr(0, sequence.size);
    }
    text.remove_prefix(sequence.size);
  }
}

}  // namespace kymo::base
