// Formats numbers for people.
#include "apps/kymo/shared/units.hpp"

#include <fmt/format.h>

#include "base/text/plain_text.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::command {

namespace {

constexpr std::string_view ellipsis = "\xE2\x80\xA6";

}  // namespace

std::string format_duration(double duration_ns) {
  return stats::duration_text(duration_ns);
}

std::string format_bytes(std::uint64_t bytes) {
  return stats::value_text(static_cast<double>(bytes), "B");
}

std::string format_joules(double joules) {
  return stats::value_text(joules, "J");
}

std::string format_count(std::uint64_t count) {
  return stats::count_text(count);
}

std::string format_value(double value) {
  return fmt::format("{:.6g}", value);
}

std::string format_share(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100.0 * part / whole) : "-";
}

std::string format_plural(std::uint64_t count, std::string_view noun) {
  const char* const ending = noun.empty() || noun.back() != 's' ? "s" : "es";
  return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : ending);
}

std::string format_fact(std::string_view key, const std::string& value) {
  const auto ends_in = [&key](std::string_view ending) {
    return key.size() > ending.size() && key.compare(key.size() - ending.size(), ending.size(), ending) == 0;
  };
  const bool is_number =
      !value.empty() && value.size() < 19 && value.find_first_not_of("0123456789") == std::string::npos;
  // A start is a time on the captures' axis, not a duration.
  if (is_number && ends_in("_ns") && !ends_in("start_ns")) {
    return format_duration(static_cast<double>(std::stoull(value)));
  }
  if (is_number && ends_in("_bytes")) {
    return format_bytes(std::stoull(value));
  }
  return printable(value, 200);
}

std::string printable(std::string_view text) {
  std::string result;
  base::append_plain_text(result, text);
  return result;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char character : text) {
    width += (static_cast<unsigned char>(character) & 0xC0U) != 0x80U ? 1 : 0;
  }
  return width;
}

std::string cut_middle(std::string_view text, std::size_t width) {
  const std::size_t columns = width_of(text);
  if (columns <= width) {
    return std::string(text);
  }
  const std::size_t kept_in_front = width / 2;
  const std::size_t kept_behind = width - kept_in_front - 1;
  std::string cut;
  std::size_t column = 0;
  bool is_cut = false;
  for (const char character : text) {
    column += (static_cast<unsigned char>(character) & 0xC0U) != 0x80U ? 1U : 0U;
    if (column > kept_in_front && !is_cut) {
      cut += ellipsis;
      is_cut = true;
    }
    if (column <= kept_in_front || column > columns - kept_behind) {
      cut += character;
    }
  }
  return cut;
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
  return result.substr(0, end).append(ellipsis);
}

}  // namespace kymo::command
