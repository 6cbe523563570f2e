// Numbers for people.
#include "units.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kymo::command {

namespace {

/// Three significant digits.
std::string three_digits(double value) {
  const double size = std::fabs(value);
  if (size >= 99.95) {
    return fmt::format("{:.0f}", value);
  }
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

/// The length of the UTF-8 sequence at the front of a text; 0 where it is not one.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 0;
  std::uint32_t least = 0;
  std::uint32_t value = 0;
  if (first < 0x80U) {
    return 1;
  }
  if ((first & 0xE0U) == 0xC0U) {
    length = 2, least = 0x80, value = first & 0x1FU;
  } else if ((first & 0xF0U) == 0xE0U) {
    length = 3, least = 0x800, value = first & 0x0FU;
  } else if ((first & 0xF8U) == 0xF0U) {
    length = 4, least = 0x10000, value = first & 0x07U;
  } else {
    return 0;
  }
  if (text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return 0;
    }
    value = value << 6U | (byte(i) & 0x3FU);
  }
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  return value < least || value > 0x10FFFF || is_surrogate ? 0 : length;
}

}  // namespace

std::string format_duration(double duration_ns) {
  if (!std::isfinite(duration_ns)) {
    return "-";
  }
  if (duration_ns < 0) {
    return fmt::format("-{}", format_duration(-duration_ns));
  }
  if (duration_ns < 999.5) {
    return duration_ns == std::floor(duration_ns) ? fmt::format("{:.0f} ns", duration_ns)
                                                  : three_digits(duration_ns) + " ns";
  }
  if (duration_ns < 999.5e3) {
    return three_digits(duration_ns / 1e3) + " us";
  }
  if (duration_ns < 999.5e6) {
    return three_digits(duration_ns / 1e6) + " ms";
  }
  const double seconds = duration_ns / 1e9;
  if (seconds < 119.95) {
    return three_digits(seconds) + " s";
  }
  const double whole = std::floor(seconds + 0.5);
  if (whole < 7200) {
    return fmt::format("{:.0f} min {:.0f} s", std::floor(whole / 60), std::fmod(whole, 60));
  }
  return fmt::format("{:.0f} h {:.0f} min", std::floor(whole / 3600), std::floor(std::fmod(whole, 3600) / 60));
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> units{"kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) {
    return fmt::format("{} B", bytes);
  }
  double value = static_cast<double>(bytes) / 1e3;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) {
    value /= 1e3;
  }
  return three_digits(value) + " " + units[unit];
}

std::string format_count(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return text;
}

std::string format_value(double value) {
  return fmt::format("{:.6g}", value);
}

std::string format_share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100.0 * part / whole) : "-";
}

std::string format_plural(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : "s");
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    // U+0080 to U+009F are control characters too.
    const bool is_c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0U;
    if (length == 0) {
      result += "\xEF\xBF\xBD";
    } else if (length == 1 && (first < 0x20U || first == 0x7FU)) {
      result += fmt::format("\\x{:02x}", first);
    } else if (is_c1) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[1]));
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char character : text) {
    width += (static_cast<unsigned char>(character) & 0xC0U) != 0x80U ? 1 : 0;
  }
  return width;
}

std::string printable(std::string_view text, std::size_t width) {
  std::string result = printable(text.substr(0, 4 * width + 4));
  if (width_of(result) <= width && text.size() <= 4 * width + 4) {
    return result;
  }
  std::size_t columns = 0;
  std::size_t end = 0;
  for (; end < result.size(); ++end) {
    if ((static_cast<unsigned char>(result[end]) & 0xC0U) != 0x80U && columns++ + 1 >= width) {
      break;
    }
  }
  return result.substr(0, end) + "\xE2\x80\xA6";
}

}  // namespace kymo::command
