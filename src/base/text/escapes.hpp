// Text in the forms that other formats take: hexadecimal digits, XML, CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text/text.hpp"

namespace kymo::base {

inline constexpr std::string_view hex_digits = "0123456789abcdef";

/// Two lower-case digits per byte.
[[nodiscard]] inline std::string to_hex(const unsigned char* bytes, std::size_t size) {
  std::string hex;
  hex.reserve(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    hex += hex_digits[bytes[i] >> 4U];
    hex += hex_digits[bytes[i] & 0xFU];
  }
  return hex;
}

/// Appends so many of a number's last digits.
inline void append_hex(std::string& out, std::uint32_t number, unsigned digits) {
  while (digits-- > 0) {
    out += hex_digits[(number >> (4 * digits)) & 0xFU];
  }
}

/// Appends text as the content or an attribute of XML and HTML. Control characters, which XML cannot represent or
/// advises against, become blanks.
inline void append_xml(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char character = text[i];
    if (const std::size_t size = look_at_control(text.substr(i)).size; size != 0) {
      out += ' ';
      i += size - 1;
      continue;
    }
    switch (character) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += character;
    }
  }
}

/// Appends a field of CSV (RFC 4180), without the comma before it: quoted if it holds a comma, a quote or a line break.
inline void append_csv_field(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char character : text) {
    if (character == '"') {
      out += '"';
    }
    out += character;
  }
  out += '"';
}

}  // namespace kymo::base
