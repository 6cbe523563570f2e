#include "exchange/vor/columns.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>
#include <utility>

namespace kymo::exchange {
namespace {

struct Unit {
  std::string_view name;
  char kind = ' ';
  double factor = 1;
};

constexpr std::array units{
    Unit{"B", 'b', 1},
    Unit{"kB", 'b', 1e3},
    Unit{"MB", 'b', 1e6},
    Unit{"GB", 'b', 1e9},
    Unit{"KiB", 'b', 1024},
    Unit{"MiB", 'b', 1024.0 * 1024},
    Unit{"GiB", 'b', 1024.0 * 1024 * 1024},
    Unit{"B/s", 'r', 1},
    Unit{"kB/s", 'r', 1e3},
    Unit{"MB/s", 'r', 1e6},
    Unit{"GB/s", 'r', 1e9},
    Unit{"ns", 't', 1},
    Unit{"us", 't', 1e3},
    Unit{"ms", 't', 1e6},
    Unit{"s", 't', 1e9},
    Unit{"Hz", 'f', 1},
    Unit{"kHz", 'f', 1e3},
    Unit{"MHz", 'f', 1e6},
    Unit{"GHz", 'f', 1e9},
    Unit{"mW", 'p', 1},
    Unit{"W", 'p', 1e3},
    Unit{"C", 'c', 1},
    Unit{"\xC2\xB0"
         "C",
         'c', 1},
    Unit{"%", '%', 1},
};

/// The system columns in vor's order, after frame_ms.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> system_columns{{
    {"memory_mb", "MB"},
    {"io_ms", "ms"},
    {"io_MB", "MB"},
    {"gpu_util", "%"},
    {"gpu_sm", "%"},
    {"pcie", "MB/s"},
    {"gpu_power", "W"},
    {"gpu_mem", "MB"},
    {"gpu_temp",
     "\xC2\xB0"
     "C"},
    {"gpu_clock", "MHz"},
}};

/// Ids are 16 bits wide.
constexpr std::size_t most_columns = std::numeric_limits<std::uint16_t>::max();

const Unit* find_unit(std::string_view name) {
  const auto* const found =
      std::find_if(units.begin(), units.end(), [name](const Unit& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : found;
}

/// Whether it is the recorder's duration of the main stream's frames, which the column frame_ms has from their marks.
bool is_frame_time(const MetricDeclaration& metric) {
  return metric.name == vor_frame_column && metric.unit == "ms" && metric.labels.empty();
}

std::string user_name(const MetricDeclaration& metric) {
  std::string name = metric.name;
  for (std::size_t i = 0; i < metric.labels.size(); ++i) {
    name += i == 0 ? '{' : ',';
    name += metric.labels[i].first + '=' + metric.labels[i].second;
  }
  name += metric.labels.empty() ? "" : "}";
  return valid_vor_text(name);
}

}  // namespace

std::optional<UnitChange> find_unit_change(std::string_view from, std::string_view to) {
  if (from == to) {
    return UnitChange{};
  }
  const Unit* const a = find_unit(from);
  const Unit* const b = find_unit(to);
  if (a == nullptr || b == nullptr || a->kind != b->kind) {
    return std::nullopt;
  }
  // Divides by a whole number because its inverse may not be exact.
  return a->factor >= b->factor ? UnitChange{a->factor / b->factor, 1} : UnitChange{1, b->factor / a->factor};
}

VorColumns find_vor_columns(const std::vector<MetricDeclaration>& metrics, ProcessId process) {
  VorColumns columns;
  columns.system.push_back({std::string(vor_frame_column), "ms"});
  std::vector<MetricId> of_system;
  for (const auto& [name, unit] : system_columns) {
    for (const MetricDeclaration& metric : metrics) {
      const auto change = metric.unit.empty() ? UnitChange{} : find_unit_change(metric.unit, unit);
      if (metric.process == process && metric.name == name && metric.kind == MetricKind::gauge && change) {
        columns.metrics.push_back({metric.id, {metric.name, std::string(unit)}, *change, columns.system.size()});
        columns.system.push_back(columns.metrics.back().column);
        of_system.push_back(metric.id);
        break;
      }
    }
  }
  std::set<std::string> taken;
  for (const VorColumn& column : columns.system) {
    taken.insert(column.name);
  }
  for (const MetricDeclaration& metric : metrics) {
    if (metric.process != process || is_frame_time(metric) ||
        std::find(of_system.begin(), of_system.end(), metric.id) != of_system.end()) {
      continue;
    }
    if (taken.size() >= most_columns) {
      ++columns.left_out;
      continue;
    }
    const std::string plain = user_name(metric);
    std::string name = plain;
    for (unsigned number = 2; !taken.insert(name).second; ++number) {
      name = plain + " #" + std::to_string(number);
    }
    columns.metrics.push_back({metric.id, {name, metric.unit}, {}, 0});
  }
  std::sort(columns.metrics.begin(), columns.metrics.end(),
            [](const VorMetric& a, const VorMetric& b) { return a.metric < b.metric; });
  return columns;
}

MetricDeclaration make_vor_metric(const VorColumn& column) {
  MetricDeclaration metric;
  metric.name = valid_vor_text(column.name);
  metric.unit = valid_vor_text(column.unit);
  metric.source = "vor";
  const std::size_t open = metric.name.find('{');
  if (open == 0 || open == std::string::npos || metric.name.back() != '}') {
    return metric;
  }
  std::string_view rest = std::string_view(metric.name).substr(open + 1, metric.name.size() - open - 2);
  if (rest.empty() || rest.back() == ',') {
    return metric;
  }
  std::vector<std::pair<std::string, std::string>> labels;
  while (!rest.empty()) {
    const std::string_view label = rest.substr(0, rest.find(','));
    const std::size_t equals = label.find('=');
    if (equals == 0 || equals == std::string_view::npos || label.find('{') != std::string_view::npos) {
      return metric;
    }
    labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
    rest.remove_prefix(std::min(label.size() + 1, rest.size()));
  }
  metric.labels = std::move(labels);
  metric.name.resize(open);
  return metric;
}

}  // namespace kymo::exchange
