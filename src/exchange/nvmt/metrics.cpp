#include "exchange/nvmt/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace kymo::exchange {
namespace {

const std::string* find_label(const MetricDeclaration& metric, std::string_view key) {
  for (const auto& [name, value] : metric.labels) {
    if (name == key) {
      return &value;
    }
  }
  return nullptr;
}

void take_first(MetricId& place, MetricId metric) {
  place = place == 0 ? metric : place;
}

void take_core(NvmtMetrics& found, const std::string& label, MetricId metric) {
  unsigned core = 0;
  const char* const end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data(), end, core);
  if (error != std::errc() || stop != end) {
    return;
  }
  if (core >= nvmetrics::max_cpu_cores) {
    found.left_out.push_back("CPU core " + label);
    return;
  }
  take_first(found.cpu_util[core], metric);
  found.cores = std::max(found.cores, core + 1);
}

/// Names need not be unique: the second metric with a name belongs to the second rail with that name.
void take_rail(NvmtMetrics& found, const std::string& name, MetricId NvmtRail::*place, MetricId metric) {
  for (NvmtRail& rail : found.rails) {
    if (rail.name == name && rail.*place == 0) {
      rail.*place = metric;
      return;
    }
  }
  found.rails.push_back({name});
  found.rails.back().*place = metric;
}

void take_time(NvmtMetrics& found, const MetricDeclaration& metric) {
  const std::string* const tier = find_label(metric, "tier");
  if (tier != nullptr && metric.source == nvmt_source) {
    take_first(*tier == "fast" ? found.fast_time : *tier == "medium" ? found.medium_time : found.slow_time, metric.id);
  }
}

void take_metric(NvmtMetrics& found, const MetricDeclaration& metric) {
  const std::string& name = metric.name;
  const std::string* const rail = find_label(metric, "rail");
  if (rail != nullptr) {
    if (name == "voltage") {
      take_rail(found, *rail, &NvmtRail::voltage, metric.id);
    } else if (name == "current") {
      take_rail(found, *rail, &NvmtRail::current, metric.id);
    } else if (name == "power" && metric.source == nvmt_source) {
      take_rail(found, *rail, &NvmtRail::power, metric.id);
    }
  } else if (name == "gpu_util") {
    take_first(found.gpu_util, metric.id);
  } else if (name == "cpu_util") {
    if (const std::string* const core = find_label(metric, "core")) {
      take_core(found, *core, metric.id);
    } else if (metric.labels.empty()) {
      take_first(found.cpu_aggregate, metric.id);
    }
  } else if (name == "temperature") {
    if (const std::string* const zone = find_label(metric, "zone")) {
      found.zones.push_back({*zone, metric.id});
    }
  } else if (name == nvmt_time_metric) {
    take_time(found, metric);
  } else if (metric.labels.empty()) {
    if (name == "memory_used") {
      take_first(found.memory_used, metric.id);
    } else if (name == "memory_available") {
      take_first(found.memory_available, metric.id);
    } else if (name == "emc_util") {
      take_first(found.emc_util, metric.id);
    }
  }
}

/// The columns named by the facts, in that order, as many as `count` states. If the facts name none, the columns that
/// were found.
template <typename Column>
std::vector<Column> in_stated_order(std::vector<Column> found, const TimelineProcess& process, const std::string& key,
                                    std::string_view count) {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  const std::string* const stated_count = find_info(process, count);
  if (stated_count != nullptr) {
    std::from_chars(stated_count->data(), stated_count->data() + stated_count->size(), most);
  }
  std::vector<Column> stated;
  while (stated.size() < most) {
    const std::string* const name = find_info(process, key + std::to_string(stated.size()));
    if (name == nullptr) {
      break;
    }
    const auto same =
        std::find_if(found.begin(), found.end(), [&](const Column& column) { return column.name == *name; });
    if (same == found.end()) {
      stated.push_back({*name});
    } else {
      stated.push_back(std::move(*same));
      found.erase(same);
    }
  }
  return stated.empty() && stated_count == nullptr ? found : stated;
}

void add(std::vector<MetricId>& metrics, MetricId metric) {
  if (metric != 0) {
    metrics.push_back(metric);
  }
}

}  // namespace

std::vector<MetricId> NvmtMetrics::fast() const {
  std::vector<MetricId> metrics;
  for (const MetricId metric : {memory_used, memory_available, cpu_aggregate, gpu_util, emc_util}) {
    add(metrics, metric);
  }
  for (const MetricId metric : cpu_util) {
    add(metrics, metric);
  }
  return metrics;
}

std::vector<MetricId> NvmtMetrics::medium() const {
  std::vector<MetricId> metrics;
  for (const NvmtRail& rail : rails) {
    add(metrics, rail.voltage);
    add(metrics, rail.current);
    add(metrics, rail.power);
  }
  return metrics;
}

std::vector<MetricId> NvmtMetrics::slow() const {
  std::vector<MetricId> metrics;
  for (const NvmtZone& zone : zones) {
    add(metrics, zone.temperature);
  }
  return metrics;
}

const std::string* find_info(const TimelineProcess& process, std::string_view key) {
  for (const auto& [name, value] : process.infos) {
    if (name == key) {
      return &value;
    }
  }
  return nullptr;
}

NvmtMetrics find_nvmt_metrics(const std::vector<MetricDeclaration>& metrics, const TimelineProcess& process) {
  NvmtMetrics found;
  for (const MetricDeclaration& metric : metrics) {
    if (metric.process == process.declaration.id) {
      take_metric(found, metric);
    }
  }
  found.rails = in_stated_order(std::move(found.rails), process, "nvmt.rail.", "nvmt.rails");
  found.zones = in_stated_order(std::move(found.zones), process, "nvmt.zone.", "nvmt.zones");
  if (const std::string* const emc = find_info(process, "nvmt.emc"); emc != nullptr && *emc == "0") {
    found.emc_util = 0;
  }
  if (const std::string* const cores = find_info(process, "nvmt.cores"); cores != nullptr && !cores->empty()) {
    unsigned count = 0;
    std::from_chars(cores->data(), cores->data() + cores->size(), count);
    found.cores = std::min<unsigned>(count, nvmetrics::max_cpu_cores);
    std::fill(found.cpu_util.begin() + found.cores, found.cpu_util.end(), MetricId{0});
  }
  for (std::size_t i = nvmetrics::max_power_rails; i < found.rails.size(); ++i) {
    found.left_out.push_back("power rail " + found.rails[i].name);
  }
  for (std::size_t i = nvmetrics::max_thermal_zones; i < found.zones.size(); ++i) {
    found.left_out.push_back("thermal zone " + found.zones[i].name);
  }
  found.rails.resize(std::min(found.rails.size(), nvmetrics::max_power_rails));
  found.zones.resize(std::min(found.zones.size(), nvmetrics::max_thermal_zones));
  return found;
}

}  // namespace kymo::exchange
