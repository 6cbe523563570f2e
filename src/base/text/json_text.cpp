#include "base/text/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "base/text/escapes.hpp"
#include "base/text/number_text.hpp"
#include "base/text/plain_text.hpp"
#include "base/text/text.hpp"

namespace kymo::base {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

void append_escape(std::string& out, std::uint32_t character) {
  constexpr std::string_view with_letters = "\"\\\b\f\n\r\t";
  constexpr std::string_view letters = "\"\\bfnrt";
  out += '\\';
  const std::size_t at = character < 0x80 ? with_letters.find(static_cast<char>(character)) : with_letters.npos;
  if (at != with_letters.npos) {
    out += letters[at];
    return;
  }
  out += 'u';
  append_hex(out, character, 4);
}

template <typename Integer>
void append_integer(std::string& out, Integer value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  out.append(digits.data(), end);
}

}  // namespace

void append_json_text(std::string& out, std::string_view text, JsonEscapes escapes) {
  const bool is_minimal = escapes == JsonEscapes::minimal;
  const unsigned char first_odd = is_minimal ? 0x80 : 0x7F;
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto character = static_cast<unsigned char>(text[i]);
    if (character >= 0x20 && character < first_odd && character != '"' && character != '\\') {
      ++i;
      continue;
    }
    const Utf8Sequence sequence = look_at_utf8(text.substr(i));
    const ControlCharacter control = is_minimal ? ControlCharacter() : look_at_control(text.substr(i));
    const bool is_escaped = character < 0x80 || control.size != 0;
    if (!sequence.is_valid || is_escaped) {
      out.append(text, plain, i - plain);
      plain = i + sequence.size;
      if (sequence.is_valid) {
        append_escape(out, control.size != 0 ? control.code : character);
      } else {
        out += replacement;
      }
    }
    i += sequence.size;
  }
  out.append(text, plain, text.size() - plain);
}

bool append_valid_text(std::string& out, std::string_view text) {
  bool is_valid = true;
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const Utf8Sequence sequence = look_at_utf8(text.substr(i));
    if (!sequence.is_valid) {
      is_valid = false;
      out.append(text, plain, i - plain);
      out += replacement;
      plain = i + sequence.size;
    }
    i += sequence.size;
  }
  out.append(text, plain, text.size() - plain);
  return is_valid;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_text(out, text);
  out += '"';
}

bool append_json_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    return false;
  }
  append_shortest_number(out, value);
  return true;
}

void append_json_integer(std::string& out, std::int64_t value) {
  append_integer(out, value);
}
void append_json_integer(std::string& out, std::uint64_t value) {
  append_integer(out, value);
}

void append_microseconds(std::string& out, std::int64_t time_ns) {
  auto magnitude = static_cast<std::uint64_t>(time_ns);
  if (time_ns < 0) {
    out += '-';
    magnitude = std::uint64_t{0} - magnitude;
  }
  std::array<char, 32> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), magnitude / 1000).ptr;
  const auto rest = static_cast<unsigned>(magnitude % 1000);
  end[0] = '.';
  end[1] = static_cast<char>('0' + rest / 100);
  end[2] = static_cast<char>('0' + rest / 10 % 10);
  end[3] = static_cast<char>('0' + rest % 10);
  out.append(digits.data(), end + 4);
}

void append_duration_until_end(std::string& out, std::int64_t start_ns, std::int64_t duration_ns) {
  std::int64_t end_ns = 0;
  if (!__builtin_add_overflow(start_ns, duration_ns, &end_ns)) {
    constexpr double ns_per_us = 1000;
    const double shown_us = static_cast<double>(duration_ns) / ns_per_us;
    const double fitting_us = static_cast<double>(end_ns) / ns_per_us - static_cast<double>(start_ns) / ns_per_us;
    // The result must round to the same nanosecond. Beyond 50 days doubles of microseconds are too coarse for that.
    constexpr double most_off_us = 0.00049;
    if (fitting_us != shown_us && std::abs(fitting_us - shown_us) < most_off_us &&
        append_json_number(out, fitting_us)) {
      return;
    }
  }
  append_microseconds(out, duration_ns);
}

void append_json_id(std::string& out, std::uint64_t id) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), id, 16).ptr;
  out += "\"0x";
  out.append(digits.data(), end);
  out += '"';
}

}  // namespace kymo::base
