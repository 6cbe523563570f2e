#include "bench/json_value.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/text/json_text.hpp"

namespace kymo::bench {
namespace {

/// Converts digits and exponent from to_chars, "1.25e-07", to the format of the fingerprints.
template <typename Float>
void append_shortest(std::string& out, Float value, int greatest_plain, std::string_view what) {
  if (!std::isfinite(value)) {
    throw std::invalid_argument(std::string(what) + " is not a finite number");
  }
  if (std::signbit(value)) {
    out += '-';
    value = -value;
  }
  std::array<char, 64> buffer{};
  const auto written =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t mark = text.find('e');
  std::string digits(text.substr(0, 1));
  if (mark > 2) {
    digits += text.substr(2, mark - 2);
  }
  int exponent = 0;
  const char* const first = text.data() + mark + 1;
  std::from_chars(*first == '+' ? first + 1 : first, written.ptr, exponent);
  // The value is 0.digits times ten to the power of `point`.
  const int point = exponent + 1;
  const int count = static_cast<int>(digits.size());
  if (-5 < point && point <= 0) {
    out += "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (0 < point && point <= greatest_plain) {
    const auto split = static_cast<std::size_t>(point);
    out += count <= point ? digits + std::string(split - digits.size(), '0') + ".0"
                          : digits.substr(0, split) + "." + digits.substr(split);
  } else {
    out += digits.substr(0, 1);
    if (count > 1) {
      out += "." + digits.substr(1);
    }
    out += "e" + std::to_string(exponent);
  }
}

}  // namespace

void append_text(std::string& out, std::string_view text, std::string_view what) {
  const std::size_t size = out.size();
  out += '"';
  base::append_json_text(out, text, base::JsonEscapes::minimal);
  out += '"';
  // U+FFFD replaces bytes that are not UTF-8 and represents itself.
  constexpr std::string_view replacement = "\xEF\xBF\xBD";
  const auto count = [replacement](std::string_view in) {
    std::size_t found = 0;
    for (std::size_t at = in.find(replacement); at != std::string_view::npos; at = in.find(replacement, at + 3)) {
      ++found;
    }
    return found;
  };
  if (count(std::string_view(out).substr(size)) != count(text)) {
    out.resize(size);
    throw std::invalid_argument(std::string(what) + " is not UTF-8, which JSON has to be");
  }
}

void append_float(std::string& out, float value, std::string_view what) {
  append_shortest(out, value, 13, what);
}

void append_float(std::string& out, double value, std::string_view what) {
  append_shortest(out, value, 16, what);
}

}  // namespace kymo::bench
