// Numbers with their units as readable text.
#include "stats/common/value_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

namespace kymo::stats {

namespace {

/// A number with this many decimals; its magnitude must be below 1e15.
std::string fixed(double value, int decimals) {
  const std::int64_t ten = 10;
  std::int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) {
    scale *= ten;
  }
  const std::int64_t scaled = std::llround(std::fabs(value) * static_cast<double>(scale));
  std::string text = (value < 0 && scaled != 0 ? "-" : "") + std::to_string(scaled / scale);
  if (decimals > 0) {
    const std::string rest = std::to_string(scaled % scale);
    text += '.' + std::string(static_cast<std::size_t>(decimals) - rest.size(), '0') + rest;
  }
  return text;
}

void cut_zeros(std::string& text) {
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
      text.pop_back();
    }
  }
}

/// The power of ten of a number's first digit after rounding to this many digits.
int exponent_of(double size, int digits) {
  const int exponent = static_cast<int>(std::floor(std::log10(size)));
  return std::llround(size / std::pow(10, exponent - digits + 1)) >= std::llround(std::pow(10, digits)) ? exponent + 1
                                                                                                        : exponent;
}

std::string number_text(double value, NumberForm form) {
  const double size = std::fabs(value);
  if (size < 1e-300) {
    return "0";
  }
  const int exponent = exponent_of(size, form.digits);
  std::string text;
  if (exponent >= 7 || exponent < -4) {
    text = fixed(value / std::pow(10, exponent), form.digits - 1);
    cut_zeros(text);
    const int power = std::abs(exponent);
    return text + (exponent < 0 ? "e-" : "e+") + (power < 10 ? "0" : "") + std::to_string(power);
  }
  text = fixed(value, std::max(form.digits - 1 - exponent, 0));
  if (!form.keeps_zeros) {
    cut_zeros(text);
  }
  return text;
}

struct Unit {
  double size;
  const char* name;
};

/// The largest unit, by descending size, of which the rounded number is at least one; otherwise the smallest.
template <std::size_t count>
const Unit& unit_of(double size, const std::array<Unit, count>& units, int digits) {
  const double least = 1 - 0.5 * std::pow(10, -digits);
  for (const Unit& unit : units) {
    if (size >= least * unit.size) {
      return unit;
    }
  }
  return units.back();
}

bool is_any_of(std::string_view unit, std::initializer_list<std::string_view> units) {
  return std::find(units.begin(), units.end(), unit) != units.end();
}

}  // namespace

std::string duration_text(double duration_ns, NumberForm form) {
  static constexpr std::array<Unit, 4> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  if (!std::isfinite(duration_ns)) {
    return "-";
  }
  if (duration_ns < 0) {
    return '-' + duration_text(-duration_ns, form);
  }
  const double seconds = duration_ns / 1e9;
  if (seconds < 119.95) {
    const Unit& unit = unit_of(duration_ns, units, form.digits);
    // Whole nanoseconds are exact.
    form.keeps_zeros = form.keeps_zeros && (unit.size > 1 || duration_ns != std::floor(duration_ns));
    return number_text(duration_ns / unit.size, form) + ' ' + unit.name;
  }
  if (seconds > 1e12) {
    return number_text(seconds, form) + " s";
  }
  const double whole = std::floor(seconds + 0.5);
  if (whole < 7200) {
    return fixed(std::floor(whole / 60), 0) + " min " + fixed(std::fmod(whole, 60), 0) + " s";
  }
  return fixed(std::floor(whole / 3600), 0) + " h " + fixed(std::floor(std::fmod(whole, 3600) / 60), 0) + " min";
}

std::string value_text(double value, std::string_view unit, NumberForm form) {
  static constexpr std::array<Unit, 10> prefixes{{{1e18, "E"},
                                                  {1e15, "P"},
                                                  {1e12, "T"},
                                                  {1e9, "G"},
                                                  {1e6, "M"},
                                                  {1e3, "k"},
                                                  {1, ""},
                                                  {1e-3, "m"},
                                                  {1e-6, "u"},
                                                  {1e-9, "n"}}};
  static constexpr std::array<Unit, 7> whole_prefixes{
      {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
  if (!std::isfinite(value)) {
    return "-";
  }
  if (unit == "ns") {
    return duration_text(value, form);
  }
  const double size = std::fabs(value);
  const bool is_whole = is_any_of(unit, {"B", "B/s", "Hz"});
  if (is_whole || is_any_of(unit, {"J", "W"})) {
    const Unit& prefix = is_whole ? unit_of(size, whole_prefixes, form.digits) : unit_of(size, prefixes, form.digits);
    // Below the smallest prefix, values are shown as 0.
    if (size < prefixes.back().size * 0.9995) {
      return "0 " + std::string(unit);
    }
    form.keeps_zeros = form.keeps_zeros && (!is_whole || prefix.size > 1 || value != std::floor(value));
    return number_text(value / prefix.size, form) + ' ' + prefix.name + std::string(unit);
  }
  form.keeps_zeros = form.keeps_zeros && value != std::floor(value);
  return number_text(value, form) + (unit.empty() || unit == "1" ? "" : ' ' + std::string(unit));
}

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t place = text.size(); place > 3;) {
    place -= 3;
    text.insert(place, 1, ',');
  }
  return text;
}

std::string shortened(const std::string& text, std::size_t most) {
  if (text.size() <= most) {
    return text;
  }
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) {
    --most;
  }
  return text.substr(0, most) + "...";
}

}  // namespace kymo::stats
