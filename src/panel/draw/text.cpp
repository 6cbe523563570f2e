// Formats numbers and names for the panel.
#include "panel/draw/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::panel {

namespace {

constexpr stats::NumberForm four_digits{4, false};

}  // namespace

std::string clean_text(std::string_view text, std::size_t most_bytes) {
  std::string clean;
  while (!text.empty()) {
    const base::Utf8Sequence sequence = base::look_at_utf8(text);
    const std::size_t size = sequence.is_valid ? sequence.size : 0;
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
    int digits;  // nine minus the decimals of a nanosecond in this unit
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
                     [](char a, char b) { return base::to_lower(a) == base::to_lower(b); }) != text.end();
}

}  // namespace kymo::panel
