#include "control/environment.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "base/system/message.hpp"
#include "base/system/system.hpp"
#include "base/text/ascii.hpp"
#include "base/text/number_text.hpp"
#include "base/text/pattern_list.hpp"

namespace kymo::control {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array duration_units{Unit{"ns", 1.0}, Unit{"us", 1e3}, Unit{"ms", 1e6},  Unit{"s", 1e9},
                                    Unit{"", 1e9},   Unit{"m", 60e9}, Unit{"h", 3600e9}};
constexpr std::array hertz_units{Unit{"", 1.0}};
constexpr std::array size_units{Unit{"", 1.0},       Unit{"b", 1.0},     Unit{"k", 1e3},      Unit{"kb", 1e3},
                                Unit{"m", 1e6},      Unit{"mb", 1e6},    Unit{"g", 1e9},      Unit{"gb", 1e9},
                                Unit{"t", 1e12},     Unit{"tb", 1e12},   Unit{"kib", 1024.0}, Unit{"mib", 1048576.0},
                                Unit{"gib", 0x1p30}, Unit{"tib", 0x1p40}};

/// Parses a non-negative number with a unit from the list, which together fit into 63 bits.
std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units, bool ignores_case) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0 || std::signbit(number)) {
    return std::nullopt;
  }
  std::string unit(rest, text.data() + text.size());
  if (ignores_case) {
    std::transform(unit.begin(), unit.end(), unit.begin(), base::to_lower);
  }
  for (const Unit& candidate : units) {
    if (candidate.name == unit) {
      const double quantity = number * candidate.factor;
      return quantity < static_cast<double>(std::numeric_limits<std::int64_t>::max()) ? std::optional(quantity)
                                                                                      : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::string> value_of(const char* name) {
  const char* const value = base::trusted_variable(name);
  if (value == nullptr || *value == '\0') {
    return std::nullopt;
  }
  return std::string(value);
}

/// Reads one variable with its parser. Warns and keeps the default if the value is invalid.
template <typename T, typename Parse>
void read_variable(const char* name, const char* expected, T& into, const Parse& parse) {
  if (const std::optional<std::string> value = value_of(name)) {
    if (auto parsed = parse(*value)) {
      into = *std::move(parsed);
    } else {
      base::say(std::string(name) + "='" + *value + "' is not understood (expected " + expected +
                "); the default is used");
    }
  }
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "1") {
    return true;
  }
  return text == "0" ? std::optional(false) : std::nullopt;
}

std::optional<std::uint64_t> parse_positive(std::string_view text) {
  const std::optional<std::uint64_t> count = base::parse_integer<std::uint64_t>(text);
  return count && *count > 0 ? count : std::nullopt;
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const std::optional<double> nanoseconds = parse_quantity(text, duration_units, false);
  return nanoseconds ? std::optional(std::chrono::nanoseconds(static_cast<std::int64_t>(*nanoseconds))) : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::optional<double> bytes = parse_quantity(text, size_units, true);
  return bytes && (*bytes >= 1 || *bytes == 0) ? std::optional(static_cast<std::uint64_t>(*bytes)) : std::nullopt;
}

std::optional<KeepBounds> parse_keep(std::string_view text) {
  KeepBounds bounds;
  while (!text.empty()) {
    const std::string_view part = base::take_item(text);
    const bool has_unit = !part.empty() && !base::is_digit(part.back());
    if (const auto duration = parse_duration(part);
        has_unit && duration && duration->count() > 0 && bounds.duration.count() == 0) {
      bounds.duration = *duration;
    } else if (const auto bytes = parse_size(part); has_unit && bytes && *bytes > 0 && bounds.bytes == 0) {
      bounds.bytes = *bytes;
    } else {
      return std::nullopt;
    }
  }
  if (bounds.duration.count() == 0 && bounds.bytes == 0) {
    return std::nullopt;
  }
  return bounds;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_labels(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> labels;
  while (!text.empty()) {
    const std::string_view part = base::take_item(text);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return std::nullopt;
    }
    labels.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return labels;
}

std::optional<SampleRates> parse_sample_rates(std::string_view text) {
  SampleRates rates = default_sample_rates;
  if (text == "0") {
    return SampleRates{};
  }
  for (double& rate : rates) {
    const std::size_t comma = text.find(',');
    const std::optional<double> hz = parse_quantity(text.substr(0, comma), hertz_units, false);
    if (!hz || (*hz != 0 && (*hz < 0.1 || *hz > 1000))) {
      return std::nullopt;
    }
    rate = *hz;
    if (comma == std::string_view::npos) {
      return rates;
    }
    text.remove_prefix(comma + 1);
  }
  return std::nullopt;
}

std::optional<std::string> parse_sites(std::string_view text) {
  return base::is_sound_list(text) ? std::optional<std::string>(text) : std::nullopt;
}

Environment read_environment() {
  Environment environment;
  environment.record_path = value_of("KYMO_RECORD");
  environment.trace_path = value_of("KYMO_TRACE");
  if (const auto facts = value_of("KYMO_FACTS"); facts && !parse_sites(*facts)) {
    base::say(
        "KYMO_FACTS is not understood (expected none, or patterns such as -host,-command_line): no facts are kept");
  }
  environment.spool_holder = value_of("KYMO_SPOOL_HOLDER").value_or("");
  read_variable("KYMO_SCOPES", "0 or 1", environment.wants_scopes, parse_switch);
  read_variable("KYMO_SITES", "patterns such as render*,-*log*", environment.sites, parse_sites);
  read_variable("KYMO_SCOPE_EVERY", "a number from 1", environment.scope_every, parse_positive);
  read_variable("KYMO_SCOPE_MAX_FRAMES", "a number from 1", environment.scope_max_frames, parse_positive);
  read_variable("KYMO_KEEP", "such as 30s,64MB", environment.keep, parse_keep);
  read_variable("KYMO_MAX_SIZE", "such as 2GB", environment.max_bytes, parse_size);
  read_variable("KYMO_SYNC", "such as 500ms", environment.sync_period, parse_duration);
  read_variable("KYMO_BUFFER", "such as 64MB", environment.pool_bytes, parse_size);
  read_variable("KYMO_LABELS", "key=value,...", environment.labels, parse_labels);
  read_variable("KYMO_SAMPLE", "up to three rates in Hz, such as 100,10,1, each 0.1 to 1000 or 0",
                environment.sample_hz, parse_sample_rates);
  environment.wants_samples = value_of("KYMO_SAMPLE").has_value();
  return environment;
}

}  // namespace kymo::control
