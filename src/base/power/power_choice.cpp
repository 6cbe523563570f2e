#include "base/power/power_choice.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/text/metric_name.hpp"

namespace kymo::base {

namespace {

enum class Family { rapl, gpu, gpu_channel, rail, channel, other, battery };

/// One device or rail with all metrics that measure it.
struct Device {
  Family family = Family::other;
  bool is_total = false;
  bool is_done = false;  ///< chosen or left out
  std::vector<MetricDeclaration> counters;
  std::vector<MetricDeclaration> powers;
  std::vector<MetricDeclaration> mean_powers;
};

std::string_view label(const MetricDeclaration& metric, std::string_view key) {
  for (const auto& [name, value] : metric.labels) {
    if (name == key) {
      return value;
    }
  }
  return {};
}

bool is_counter(const MetricDeclaration& metric) {
  return metric.unit == "J" && metric.kind == MetricKind::energy_counter;
}

/// Limits are also in watts but are not consumption.
bool is_power(const MetricDeclaration& metric) {
  const bool is_setting = metric.name.find("limit") != std::string::npos || metric.name.ends_with("_cap");
  return metric.unit == "W" && metric.kind == MetricKind::gauge && !is_setting;
}

/// The name without the suffix for the kind of measurement.
std::string_view base_name(std::string_view name) {
  constexpr std::array<std::string_view, 3> suffixes{"power_average", "power", "energy"};
  for (const std::string_view suffix : suffixes) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
    }
  }
  return name;
}

bool is_gpu_chip(std::string_view chip) {
  constexpr std::array<std::string_view, 5> drivers{"amdgpu", "radeon", "i915", "xe", "nouveau"};
  return std::any_of(drivers.begin(), drivers.end(),
                     [chip](std::string_view driver) { return chip.starts_with(driver); });
}

Family family_of(const MetricDeclaration& metric) {
  const std::string_view base = base_name(metric.name);
  if (base == "cpu" && has_label(metric, "domain")) {
    return Family::rapl;
  }
  if (base == "gpu") {
    return Family::gpu;
  }
  if (base == "battery" && has_label(metric, "battery")) {
    return Family::battery;
  }
  if (has_label(metric, "rail")) {
    return Family::rail;
  }
  if (has_label(metric, "chip")) {
    return is_gpu_chip(label(metric, "chip")) ? Family::gpu_channel : Family::channel;
  }
  return Family::other;
}

/// Whether the counter resolves less than the power does.
bool is_counter_coarse(const Device& device) {
  constexpr std::int64_t coarse = 3;
  if (device.counters.empty() || device.powers.empty()) {
    return false;
  }
  const std::int64_t power_ns = device.powers.front().renewal_ns;
  return power_ns > 0 && device.powers.front().window_ns == 0 &&
         device.counters.front().renewal_ns / coarse >= power_ns;
}

const MetricDeclaration& first_metric(const Device& device) {
  return !device.counters.empty() ? device.counters.front()
                                  : (!device.powers.empty() ? device.powers.front() : device.mean_powers.front());
}

/// Keeps one metric per process; further ones of the same process are dropped.
void add_metric(std::vector<MetricDeclaration>& metrics, const MetricDeclaration& metric) {
  const bool is_there = std::any_of(metrics.begin(), metrics.end(), [&metric](const MetricDeclaration& known) {
    return known.process == metric.process;
  });
  if (!is_there) {
    metrics.push_back(metric);
  }
}

std::vector<Device> find_devices(const std::vector<MetricDeclaration>& metrics) {
  std::map<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>, Device> devices;
  for (const MetricDeclaration& metric : metrics) {
    if (!is_counter(metric) && !is_power(metric)) {
      continue;
    }
    auto labels = metric.labels;
    std::sort(labels.begin(), labels.end());
    Device& device = devices[{std::string(base_name(metric.name)), std::move(labels)}];
    device.family = family_of(metric);
    device.is_total = device.is_total || (metric.traits & MetricDeclaration::total) != 0;
    add_metric(
        is_counter(metric) ? device.counters : (metric.name.ends_with("average") ? device.mean_powers : device.powers),
        metric);
  }
  std::vector<Device> list;
  list.reserve(devices.size());
  for (auto& [key, device] : devices) {
    list.push_back(std::move(device));
  }
  return list;
}

class Choosing {
 public:
  explicit Choosing(const std::vector<MetricDeclaration>& metrics) : devices_(find_devices(metrics)) {}

  PowerChoice by_name(const std::vector<std::string>& names) {
    for (Device& device : devices_) {
      if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return fits(device, name); })) {
        const bool is_gpu = device.family == Family::gpu || device.family == Family::gpu_channel;
        take(device, is_gpu ? PowerSide::gpu : PowerSide::machine, names_counter(device, names));
      } else {
        leave(device, "not asked for");
      }
    }
    return std::move(choice_);
  }

  PowerChoice by_rule() {
    choose_gpus();
    if (has(Family::rapl)) {
      choose_rapl();
    } else if (has(Family::rail)) {
      choose_totals(Family::rail);
    } else if (has(Family::channel)) {
      leave_parts_of_chips();
      choose_totals(Family::channel);
    } else if (has(Family::other)) {
      choose_totals(Family::other);
    } else {
      choose_totals(Family::battery);
    }
    for (Device& device : devices_) {
      leave(device, "what it measures may be in the other sources");
    }
    return std::move(choice_);
  }

 private:
  [[nodiscard]] bool has(Family family) const {
    return std::any_of(devices_.begin(), devices_.end(),
                       [family](const Device& device) { return device.family == family; });
  }

  static bool fits(const Device& device, const std::string& name) {
    for (const auto* metrics : {&device.counters, &device.powers, &device.mean_powers}) {
      for (const MetricDeclaration& metric : *metrics) {
        const bool is_label = std::any_of(metric.labels.begin(), metric.labels.end(),
                                          [&](const auto& entry) { return entry.second == name; });
        if (metric.name == name || full_name(metric) == name || is_label) {
          return true;
        }
      }
    }
    return false;
  }

  static bool names_counter(const Device& device, const std::vector<std::string>& names) {
    return std::any_of(device.counters.begin(), device.counters.end(), [&names](const MetricDeclaration& counter) {
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return name == counter.name || name == full_name(counter); });
    });
  }

  void take(Device& device, PowerSide side, bool is_counter_named = false) {
    ChosenSource source;
    const bool is_coarse = is_counter_coarse(device) && !is_counter_named;
    const bool has_counter = !device.counters.empty() && !is_coarse;
    source.method = has_counter ? EnergyMethod::counter : EnergyMethod::trapezoid;
    source.metrics = has_counter ? device.counters : (!device.powers.empty() ? device.powers : device.mean_powers);
    if (is_coarse) {
      source.counters = device.counters;
    }
    source.name = full_name(source.metrics.front());
    source.side = side;
    device.is_done = true;
    choice_.sources.push_back(std::move(source));
  }

  void leave(Device& device, const char* reason) {
    if (!device.is_done) {
      choice_.left_out.emplace_back(full_name(first_metric(device)), reason);
      device.is_done = true;
    }
  }

  void choose_gpus() {
    const Family family = has(Family::gpu) ? Family::gpu : Family::gpu_channel;
    for (Device& device : devices_) {
      if (device.family == family) {
        take(device, PowerSide::gpu);
      } else if (device.family == Family::gpu_channel) {
        leave(device, "the GPU's own metrics measure it");
      }
    }
  }

  void choose_rapl() {
    const auto domain = [](const Device& device) { return label(first_metric(device), "domain"); };
    bool has_package = false;
    bool has_psys = false;
    for (Device& device : devices_) {
      if (device.family == Family::rapl) {
        has_package = has_package || domain(device).starts_with("package");
        has_psys = has_psys || domain(device).starts_with("psys");
      }
    }
    for (Device& device : devices_) {
      if (device.family != Family::rapl) {
        continue;
      }
      const std::string_view name = domain(device);
      const bool is_wanted = has_package ? name.starts_with("package") || name.starts_with("dram")
                                         : (!has_psys || name.starts_with("psys"));
      if (is_wanted) {
        take(device, PowerSide::machine);
      } else {
        leave(device, name.starts_with("psys") ? "it contains the packages" : "another domain contains it");
      }
    }
  }

  /// Leaves out parts of hwmon chips: power if energy is counted, cores if sockets are.
  void leave_parts_of_chips() {
    const auto is_socket = [](const Device& device) {
      return label(first_metric(device), "channel").starts_with("Esocket");
    };
    for (Device& device : devices_) {
      for (const Device& other : devices_) {
        const bool is_same_chip = device.family == Family::channel && other.family == Family::channel &&
                                  label(first_metric(device), "chip") == label(first_metric(other), "chip");
        if (is_same_chip && device.counters.empty() && !other.counters.empty()) {
          leave(device, "the chip counts energy");
        } else if (is_same_chip && !is_socket(device) && is_socket(other)) {
          leave(device, "the socket contains it");
        }
      }
    }
  }

  void choose_totals(Family family) {
    const bool has_total = std::any_of(devices_.begin(), devices_.end(), [family](const Device& device) {
      return device.family == family && device.is_total;
    });
    for (Device& device : devices_) {
      if (device.family != family || device.is_done) {
        continue;
      }
      if (has_total) {
        device.is_total ? take(device, PowerSide::machine) : leave(device, "a total contains it");
      } else {
        const std::string_view rail = label(first_metric(device), "rail");
        const bool feeds_gpu = rail.find("GPU") != std::string_view::npos && rail.find("CPU") == std::string_view::npos;
        take(device, feeds_gpu ? PowerSide::gpu : PowerSide::machine);
      }
    }
  }

  std::vector<Device> devices_;
  PowerChoice choice_;
};

}  // namespace

PowerChoice choose_power_sources(const std::vector<MetricDeclaration>& metrics, const std::vector<std::string>& names) {
  Choosing choosing(metrics);
  return names.empty() ? choosing.by_rule() : choosing.by_name(names);
}

}  // namespace kymo::base
