#include "exchange/tables/openmetrics_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/json_text.hpp"
#include "base/text/plain_text.hpp"

namespace kymo::exchange {
namespace {

/// A text of letters, digits and underscores that does not begin with a digit and has no two adjacent underscores.
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char character : text) {
    if (base::is_letter_or_digit(character)) {
      name += character;
    } else if (name.empty() || name.back() != '_') {
      name += '_';
    }
  }
  if (name.empty() || base::is_digit(name.front())) {
    name.insert(name.begin(), '_');
  }
  return name;
}

std::string without_end(std::string text, std::string_view end) {
  if (text.ends_with(end) && text.size() > end.size()) {
    text.resize(text.size() - end.size());
  }
  return text;
}

void append_label(std::string& labels, std::string_view name, std::string_view value) {
  labels.append(labels.empty() ? "" : ",").append(name).append("=\"");
  std::string plain;
  base::append_plain_text(plain, value, "\n");
  for (const char character : plain) {
    if (character == '\\' || character == '"') {
      labels += '\\';
    }
    if (character == '\n') {
      labels += "\\n";
    } else {
      labels += character;
    }
  }
  labels += '"';
}

/// Appends seconds of the wall clock, exact to the nanosecond.
void append_seconds(std::string& out, std::int64_t time_ns) {
  base::append_json_integer(out, time_ns / 1'000'000'000);
  std::string rest = std::to_string(1'000'000'000 + time_ns % 1'000'000'000);
  rest[0] = '.';
  rest.erase(rest.find_last_not_of('0') + 1);
  out += rest == "." ? "" : rest;
}

void append_value(std::string& out, double value) {
  if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    static_cast<void>(base::append_json_number(out, value));
  }
}

/// The names of the lines of a family.
std::vector<std::string> line_names(const std::string& name, OpenMetricsKind kind) {
  switch (kind) {
    case OpenMetricsKind::counter:
      return {name, name + "_total", name + "_created"};
    case OpenMetricsKind::summary:
      return {name, name + "_count", name + "_sum", name + "_created"};
    case OpenMetricsKind::gauge:
      break;
  }
  return {name};
}

constexpr std::array<std::string_view, 3> kind_names{"gauge", "counter", "summary"};

}  // namespace

std::string openmetrics_unit(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 33> names{{
      {"", ""},
      {"1", ""},
      {"%", "percent"},
      {"s", "seconds"},
      {"ms", "milliseconds"},
      {"us", "microseconds"},
      {"ns", "nanoseconds"},
      {"min", "minutes"},
      {"h", "hours"},
      {"B", "bytes"},
      {"kB", "kilobytes"},
      {"KB", "kilobytes"},
      {"MB", "megabytes"},
      {"GB", "gigabytes"},
      {"KiB", "kibibytes"},
      {"MiB", "mebibytes"},
      {"GiB", "gibibytes"},
      {"W", "watts"},
      {"mW", "milliwatts"},
      {"J", "joules"},
      {"Wh", "watt_hours"},
      {"V", "volts"},
      {"mV", "millivolts"},
      {"A", "amperes"},
      {"mA", "milliamperes"},
      {"C", "celsius"},
      {"\xC2\xB0"
       "C",
       "celsius"},
      {"K", "kelvins"},
      {"Hz", "hertz"},
      {"kHz", "kilohertz"},
      {"MHz", "megahertz"},
      {"GHz", "gigahertz"},
      {"m", "meters"},
  }};
  const auto* const known =
      std::find_if(names.begin(), names.end(), [unit](const auto& entry) { return entry.first == unit; });
  if (known != names.end()) {
    return std::string(known->second);
  }
  const std::size_t slash = unit.find('/');
  if (slash != std::string_view::npos && slash + 1 < unit.size()) {
    std::string time = openmetrics_unit(unit.substr(slash + 1));
    time = time.ends_with('s') ? time.substr(0, time.size() - 1) : time;
    const std::string what = openmetrics_unit(unit.substr(0, slash));
    return what.empty() ? "per_" + time : what + "_per_" + time;
  }
  std::string plain = plain_name(unit);
  plain.erase(0, plain.find_first_not_of('_'));
  return without_end(plain, "_");
}

std::string openmetrics_labels(const std::vector<std::pair<std::string, std::string>>& labels) {
  std::string text;
  std::set<std::string> used;
  for (const auto& [key, value] : labels) {
    std::string name = plain_name(key);
    const std::string wish = name;
    // "quantile" belongs to summaries.
    for (unsigned number = 2; name == "quantile" || !used.insert(name).second; ++number) {
      name = wish + '_' + std::to_string(number);
    }
    append_label(text, name, value);
  }
  return text;
}

OpenMetricsText::Family& OpenMetricsText::family_of(const std::string& base, const std::string& unit,
                                                    OpenMetricsKind kind, const std::string& labels) {
  for (unsigned number = 1;; ++number) {
    std::string name = number == 1 ? base : base + '_' + std::to_string(number);
    name += unit.empty() ? "" : '_' + unit;
    const auto known = families_.find(name);
    if (known == families_.end()) {
      const std::vector<std::string> lines = line_names(name, kind);
      if (std::any_of(lines.begin(), lines.end(), [this](const auto& line) { return taken_.count(line) != 0; })) {
        continue;
      }
      taken_.insert(lines.begin(), lines.end());
      Family& family = families_[name];
      family = {name, unit, kind, {labels}, {}, {}};
      return family;
    }
    Family& family = known->second;
    if (family.unit == unit && family.kind == kind && family.labels.insert(labels).second) {
      return family;
    }
  }
}

void OpenMetricsText::add(const MetricDeclaration& metric, const std::string& labels, double value,
                          std::optional<std::int64_t> wall_ns) {
  // OpenMetrics counters are never negative.
  const bool is_counter = metric.kind != MetricKind::gauge && value >= 0;
  const std::string unit = openmetrics_unit(metric.unit);
  std::string base = plain_name(metric.name);
  if (is_counter) {
    base = without_end(base, "_total");
  }
  base = unit.empty() ? base : without_end(base, '_' + unit);
  Family& family = family_of(base, unit, is_counter ? OpenMetricsKind::counter : OpenMetricsKind::gauge, labels);
  std::string& out = family.lines;
  out.append(family.name).append(is_counter ? "_total" : "");
  out += labels.empty() ? " " : '{' + labels + "} ";
  append_value(out, value);
  if (wall_ns && *wall_ns >= 0) {
    out += ' ';
    append_seconds(out, *wall_ns);
  }
  out += '\n';
}

void OpenMetricsText::add_durations(const std::string& base, const std::string& help, const std::string& labels,
                                    const DurationStatistics& durations) {
  std::string unique = labels;
  if (const auto known = families_.find(base + "_seconds"); known != families_.end()) {
    for (unsigned number = 2; known->second.labels.count(unique) != 0; ++number) {
      unique = labels;
      append_label(unique, "number", std::to_string(number));
    }
  }
  Family& family = family_of(base, "seconds", OpenMetricsKind::summary, unique);
  family.help = help;
  const auto line = [&](const char* end, const std::string& all_labels, double value) {
    family.lines.append(family.name).append(end);
    family.lines += all_labels.empty() ? " " : '{' + all_labels + "} ";
    append_value(family.lines, value);
    family.lines += '\n';
  };
  const std::array<std::pair<const char*, std::int64_t>, 5> quantiles{{{"0", durations.min_ns},
                                                                       {"0.5", durations.p50_ns},
                                                                       {"0.95", durations.p95_ns},
                                                                       {"0.99", durations.p99_ns},
                                                                       {"1", durations.max_ns}}};
  for (const auto& [quantile, duration_ns] : quantiles) {
    std::string all_labels = unique;
    append_label(all_labels, "quantile", quantile);
    line("", all_labels, static_cast<double>(duration_ns) / 1e9);
  }
  line("_count", unique, static_cast<double>(durations.count));
  line("_sum", unique, static_cast<double>(durations.total_ns) / 1e9);
}

void OpenMetricsText::take(const std::function<void(std::string_view)>& put) const {
  for (const auto& [name, family] : families_) {
    std::string head = "# TYPE " + name + ' ';
    head.append(kind_names[static_cast<std::size_t>(family.kind)]).append("\n");
    if (!family.unit.empty()) {
      head.append("# UNIT ").append(name).append(" ").append(family.unit).append("\n");
    }
    if (!family.help.empty()) {
      head.append("# HELP ").append(name).append(" ").append(family.help).append("\n");
    }
    put(head);
    put(family.lines);
  }
  put("# EOF\n");
}

}  // namespace kymo::exchange
