#include "exchange/tables/openmetrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <kymo/batch_cursor.hpp>

#include "base/text/json_text.hpp"

namespace kymo::exchange {
namespace {

struct Latest {
  std::int64_t time_ns = INT64_MIN;
  double value = std::nan("");
};

/// The data of one line.
struct Series {
  std::string labels;  ///< {key="value"} or empty
  Latest latest;
};

/// Series of one name, unit and kind.
struct Family {
  std::string unit;
  bool is_counter = false;
  std::vector<Series> series;
};

bool is_letter(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}
bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// A text of letters, digits and underscores that does not begin with a digit and has no two adjacent underscores.
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char character : text) {
    if (is_letter(character) || is_digit(character)) {
      name += character;
    } else if (name.empty() || name.back() != '_') {
      name += '_';
    }
  }
  if (name.empty() || is_digit(name.front())) {
    name.insert(name.begin(), '_');
  }
  return name;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string without_end(std::string text, std::string_view end) {
  if (ends_with(text, end) && text.size() > end.size()) {
    text.resize(text.size() - end.size());
  }
  return text;
}

void append_label(std::string& labels, std::string_view key, std::string_view value, std::set<std::string>& used) {
  std::string name = plain_name(key);
  const std::string wish = name;
  for (unsigned number = 2; !used.insert(name).second; ++number) {
    name = wish + '_' + std::to_string(number);
  }
  labels.append(labels.empty() ? "{" : ",").append(name).append("=\"");
  std::string valid;
  base::append_valid_text(valid, value);
  for (const char character : valid) {
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

std::string labels_of(const Timeline& timeline, const MetricDeclaration& metric) {
  std::string labels;
  std::set<std::string> used;
  if (timeline.processes().size() > 1) {
    const ProcessDeclaration& process = timeline.process(metric.process).declaration;
    append_label(labels, "host", process.host, used);
    append_label(labels, "pid", std::to_string(process.pid), used);
  }
  for (const auto& [key, value] : metric.labels) {
    append_label(labels, key, value, used);
  }
  return labels.empty() ? labels : labels + '}';
}

/// Adds a metric to the family of its name. If metrics of another unit or kind have that name, it gets a number.
void add_to_family(std::map<std::string, Family>& families, const Timeline& timeline, const MetricDeclaration& metric,
                   const Latest& latest) {
  // OpenMetrics counters are never negative.
  const bool is_counter = metric.kind != MetricKind::gauge && latest.value >= 0;
  const std::string unit = openmetrics_unit(metric.unit);
  std::string base = plain_name(metric.name);
  if (is_counter) {
    base = without_end(base, "_total");
  }
  base = unit.empty() ? base : without_end(base, '_' + unit);
  for (unsigned number = 1;; ++number) {
    std::string name = number == 1 ? base : base + '_' + std::to_string(number);
    name += unit.empty() ? "" : '_' + unit;
    Family& family = families.try_emplace(name, Family{unit, is_counter, {}}).first->second;
    if (family.unit != unit || family.is_counter != is_counter) {
      continue;
    }
    const std::string labels = labels_of(timeline, metric);
    const bool is_known = std::any_of(family.series.begin(), family.series.end(),
                                      [&labels](const Series& series) { return series.labels == labels; });
    if (!is_known) {
      family.series.push_back({labels, latest});
      return;
    }
  }
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
    time = ends_with(time, "s") ? time.substr(0, time.size() - 1) : time;
    const std::string what = openmetrics_unit(unit.substr(0, slash));
    return what.empty() ? "per_" + time : what + "_per_" + time;
  }
  std::string plain = plain_name(unit);
  plain.erase(0, plain.find_first_not_of('_'));
  return without_end(plain, "_");
}

std::vector<std::string> write_openmetrics(const Timeline& timeline, base::OutputFile file,
                                           const ExportRequest& request) {
  std::map<MetricId, Latest> latest;
  std::optional<ClockAnchor> anchor;
  BatchCursor cursor(timeline, {}, BatchParts::others);
  for (EventBatch batch; cursor.next(batch);) {
    // The timeline uses the first capture's clock, so the wall clock comes from it as well.
    if (cursor.capture() == 0 && !batch.clock_anchors.empty()) {
      anchor = batch.clock_anchors.back();
    }
    for (const SampleRun& run : batch.samples) {
      Latest& known = latest[run.metric];
      for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
        if (run.times_ns[i] >= known.time_ns) {
          known = {run.times_ns[i], run.values[i]};
        }
      }
    }
    if (request.on_progress) {
      request.on_progress(cursor.share_done());
    }
  }
  std::map<std::string, Family> families;
  for (const auto& [id, value] : latest) {
    if (!std::isnan(value.value)) {
      add_to_family(families, timeline, timeline.metric(id), value);
    }
  }
  std::string& out = file.buffer();
  for (const auto& [name, family] : families) {
    if (family.series.empty()) {
      continue;
    }
    out.append("# TYPE ").append(name).append(family.is_counter ? " counter\n" : " gauge\n");
    if (!family.unit.empty()) {
      out.append("# UNIT ").append(name).append(" ").append(family.unit).append("\n");
    }
    for (const Series& series : family.series) {
      out.append(name).append(family.is_counter ? "_total" : "").append(series.labels).append(" ");
      append_value(out, series.latest.value);
      std::int64_t wall_ns = 0;
      if (anchor && !__builtin_sub_overflow(series.latest.time_ns, anchor->monotonic_ns, &wall_ns) &&
          !__builtin_add_overflow(wall_ns, anchor->realtime_ns, &wall_ns) && wall_ns >= 0) {
        out += ' ';
        append_seconds(out, wall_ns);
      }
      out += '\n';
    }
    file.spill();
  }
  out += "# EOF\n";
  file.close();
  return {};
}

}  // namespace kymo::exchange
