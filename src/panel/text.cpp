// Numbers and names as the panel shows them.
#include "panel/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "stats/value_text.hpp"

namespace kymo::panel {

namespace {

/// The bytes of the UTF-8 character that begins here; 0 where none does.
std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t size = first < 0x80 ? 1 : first >> 5U == 6 ? 2 : first >> 4U == 14 ? 3 : first >> 3U == 30 ? 4 : 0;
  if (size == 0 || size > text.size()) {
    return 0;
  }
  std::uint32_t code = size == 1 ? first : first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6U != 2) {
      return 0;
    }
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < least[size] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0 : size;
}

constexpr stats::NumberForm four_digits{4, false};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string clean_text(std::string_view text, std::size_t most_bytes) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (clean.size() + std::max<std::size_t>(size, 1) > most_bytes) {
      return clean + "...";
    }
    const auto first = static_cast<unsigned char>(text.front());
    if (size == 0) {
      clean += '?';
    } else if (size == 1) {
      clean += first < 0x20 || first == 0x7F ? ' ' : text.front();
    } else {
      clean += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return clean;
}

std::string tick_text(std::int64_t time_ns, std::int64_t distance_ns) {
  struct Unit {
    std::int64_t ns;
    int digits;  // nine less those after the point that a nanosecond takes
    const char* name;
  };
  constexpr Unit units[] = {{1'000'000'000, 9, "s"}, {1'000'000, 6, "ms"}, {1'000, 3, "us"}, {1, 0, "ns"}};
  const Unit* unit = units;
  while (unit->ns > 1 && std::abs(time_ns) < unit->ns) {
    ++unit;
  }
  int digits = unit->digits;
  for (std::int64_t step = 10; digits > 0 && distance_ns % step == 0; step *= 10) {
    --digits;
  }
  char buffer[60];
  std::snprintf(buffer, sizeof buffer, "%.*f %s", digits, static_cast<double>(time_ns) / static_cast<double>(unit->ns),
                unit->name);
  return buffer;
}

std::string duration_text(std::int64_t duration_ns) {
  return stats::duration_text(static_cast<double>(duration_ns), four_digits);
}

std::string integer_text(double value, std::string_view unit) {
  std::string text = value < 0 ? "-" : "";
  text += stats::count_text(static_cast<std::uint64_t>(std::llround(std::abs(value))));
  if (!unit.empty()) {
    text += ' ' + clean_text(unit, 16);
  }
  return text;
}

std::string value_text(double value, std::string_view unit) {
  return stats::value_text(value, clean_text(unit, 16), four_digits);
}

bool contains_text(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

}  // namespace kymo::panel
