#include "exchange/nvmt/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

namespace kymo::exchange {
namespace {

/// The value of a key in labels or facts; null if absent.
const std::string* find_value(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view key) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [key](const auto& pair) { return pair.first == key; });
  return found != pairs.end() ? &found->second : nullptr;
}

const std::string* find_label(const MetricDeclaration& metric, std::string_view key) {
  return find_value(metric.labels, key);
}

void take_first(MetricId& place, MetricId metric) {
  place = !place ? metric : place;
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
    if (rail.name == name && !(rail.*place)) {
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
                                    const std::string& count) {
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

}  // namespace

std::vector<MetricId> NvmtMetrics::fast() const {
  std::vector<MetricId> metrics{memory_used, memory_available, cpu_aggregate, gpu_util, emc_util};
  metrics.insert(metrics.end(), cpu_util.begin(), cpu_util.end());
  std::erase(metrics, MetricId{});
  return metrics;
}

std::vector<MetricId> NvmtMetrics::medium() const {
  std::vector<MetricId> metrics;
  for (const NvmtRail& rail : rails) {
    metrics.insert(metrics.end(), {rail.voltage, rail.current, rail.power});
  }
  std::erase(metrics, MetricId{});
  return metrics;
}

std::vector<MetricId> NvmtMetrics::slow() const {
  std::vector<MetricId> metrics;
  for (const NvmtZone& zone : zones) {
    metrics.push_back(zone.temperature);
  }
  std::erase(metrics, MetricId{});
  return metrics;
}

const std::string* find_info(const TimelineProcess& process, std::string_view key) {
  return find_value(process.infos, key);
}

const std::string* find_fact(const TimelineProcess& process, unsigned recorder, const std::string& name,
                             const std::string& key) {
  return find_info(process, recorder == 0 ? name : "nvmt." + std::to_string(recorder) + "." + key);
}

namespace {

unsigned recorder_of(const MetricDeclaration& metric) {
  unsigned number = 0;
  if (const std::string* const label = find_label(metric, nvmt_recorder_label)) {
    std::from_chars(label->data(), label->data() + label->size(), number);
  }
  return number;
}

NvmtMetrics find_metrics_of(const std::vector<MetricDeclaration>& metrics, const TimelineProcess& process,
                            unsigned recorder) {
  NvmtMetrics found;
  found.recorder = recorder;
  for (const MetricDeclaration& metric : metrics) {
    if (metric.process != process.declaration.id || recorder_of(metric) != recorder) {
      continue;
    }
    MetricDeclaration plain = metric;
    std::erase_if(plain.labels, [](const auto& label) { return label.first == nvmt_recorder_label; });
    if (recorder != 0 && metric.name == nvmt_sync_metric) {
      take_first(found.sync, metric.id);
    } else {
      take_metric(found, plain);
    }
  }
  const std::string prefix = recorder == 0 ? "nvmt." : "nvmt." + std::to_string(recorder) + ".";
  found.rails = in_stated_order(std::move(found.rails), process, prefix + "rail.", prefix + "rails");
  found.zones = in_stated_order(std::move(found.zones), process, prefix + "zone.", prefix + "zones");
  if (const std::string* const emc = find_info(process, prefix + "emc"); emc != nullptr && *emc == "0") {
    found.emc_util = {};
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

}  // namespace

NvmtMetrics find_nvmt_metrics(const std::vector<MetricDeclaration>& metrics, const TimelineProcess& process,
                              unsigned recorder) {
  NvmtMetrics found = find_metrics_of(metrics, process, recorder);
  if (found.empty() && recorder == 0) {
    unsigned first = 0;
    for (const MetricDeclaration& metric : metrics) {
      const unsigned number = metric.process == process.declaration.id ? recorder_of(metric) : 0;
      first = number != 0 && (first == 0 || number < first) ? number : first;
    }
    if (first != 0) {
      found = find_metrics_of(metrics, process, first);
    }
  }
  if (const std::string* const cores = find_fact(process, found.recorder, "nvmt.cores", "cores");
      cores != nullptr && !cores->empty()) {
    std::from_chars(cores->data(), cores->data() + cores->size(), found.stated_cores);
  }
  return found;
}

void keep_cores(NvmtMetrics& metrics, const std::function<bool(MetricId)>& is_sampled) {
  constexpr unsigned room = nvmetrics::max_cpu_cores;
  const unsigned most = metrics.stated_cores != 0 ? std::min(metrics.stated_cores, room) : room;
  unsigned kept = 0;
  for (unsigned core = 0; core < metrics.cores; ++core) {
    const MetricId metric = metrics.cpu_util[core];
    if (metric && kept < most && is_sampled(metric)) {
      metrics.cpu_util[kept++] = metric;
    }
  }
  std::fill(metrics.cpu_util.begin() + kept, metrics.cpu_util.end(), MetricId{0});
  metrics.cores = kept == 0 && metrics.stated_cores != 0 ? most : kept;
}

}  // namespace kymo::exchange
