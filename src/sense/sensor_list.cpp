#include "sense/sensor_list.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <unistd.h>

#include "sense/device_files.hpp"

namespace kymo::sense {

namespace {

struct SensorKind {
  void (*make)(const SensorContext& context, SensorList& list);
  std::array<std::string_view, 4> names;  // of the sensors that it makes
  bool is_of_process = false;             // watches the process tree rather than the machine
  bool is_slow_to_make = false;
};

constexpr std::array kinds{
    SensorKind{make_cpu_sensors, {"cpu", "scheduler"}},
    SensorKind{make_cpu_clock_sensors, {"cpu_clock"}},
    SensorKind{make_memory_sensors, {"memory", "paging"}},
    SensorKind{make_process_sensors, {"process", "process_memory"}, true},
    SensorKind{make_thread_sensors, {"threads"}, true},
    SensorKind{make_disk_sensors, {"disk"}},
    SensorKind{make_network_sensors, {"network"}},
    SensorKind{make_pressure_sensors, {"pressure"}},
    SensorKind{make_cgroup_sensors, {"cgroup"}, true},
    SensorKind{make_hwmon_sensors, {"hwmon"}},
    SensorKind{make_thermal_sensors, {"thermal"}},
    SensorKind{make_rapl_sensors, {"rapl"}},
    SensorKind{make_nvml_sensors, {"nvml"}, false, true},
    SensorKind{make_amd_gpu_sensors, {"amdgpu"}},
    SensorKind{make_intel_gpu_sensors, {"intel_gpu"}},
    SensorKind{make_jetson_sensors, {"gpu_load", "emc", "ina3221", "jetson"}},
};

/// Which names were asked for.
class NameFilter {
 public:
  explicit NameFilter(const std::vector<std::string>& names) : names_(names) {
    const std::vector<std::string> known = sensor_names();
    for (const std::string& name : names) {
      const std::string bare = name.substr(name.rfind('-', 0) == 0 ? 1 : 0);
      if (std::find(known.begin(), known.end(), bare) == known.end()) {
        std::string message = "there is no sensor '" + bare + "'; there are";
        for (const std::string& other : known) {
          message += " " + other;
        }
        throw std::invalid_argument(message);
      }
      has_wanted_ = has_wanted_ || bare.size() == name.size();
    }
  }

  [[nodiscard]] bool takes(const std::string& name) const {
    const auto is_listed = [this](const std::string& entry) {
      return std::find(names_.begin(), names_.end(), entry) != names_.end();
    };
    return (!has_wanted_ || is_listed(name)) && !is_listed("-" + name);
  }

 private:
  const std::vector<std::string>& names_;
  bool has_wanted_ = false;
};

}  // namespace

std::vector<std::string> sensor_names() {
  std::vector<std::string> names;
  for (const SensorKind& kind : kinds) {
    for (const std::string_view name : kind.names) {
      if (!name.empty()) {
        names.emplace_back(name);
      }
    }
  }
  return names;
}

bool is_of_process(std::string_view sensor) {
  return std::any_of(kinds.begin(), kinds.end(), [sensor](const SensorKind& kind) {
    return kind.is_of_process && std::find(kind.names.begin(), kind.names.end(), sensor) != kind.names.end();
  });
}

SensorList make_sensors(const SensorOptions& options, Making making) {
  const NameFilter filter(options.sensors);
  SensorContext context;
  context.root = without_end_slash(options.root);
  context.process = options.process != 0 ? options.process : static_cast<std::uint64_t>(::getpid());
  context.board = options.board;
  SensorList list;
  for (const SensorKind& kind : kinds) {
    const bool is_now = making == Making::all || kind.is_slow_to_make == (making == Making::only_slow);
    const bool is_wanted = is_now && (options.covers_machine || kind.is_of_process) &&
                           std::any_of(kind.names.begin(), kind.names.end(), [&filter](std::string_view name) {
                             return !name.empty() && filter.takes(std::string(name));
                           });
    const bool is_of_board = context.board != nullptr && kind.make == &make_thermal_sensors;
    if (is_wanted) {
      (is_of_board ? &make_board_zone_sensors : kind.make)(context, list);
    }
  }
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&filter](const std::unique_ptr<Sensor>& sensor) { return !filter.takes(sensor->name()); }),
             list.end());
  return list;
}

}  // namespace kymo::sense
