#include "sense/sensor_kinds.hpp"

namespace kymo::sense {

namespace {

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
    SensorKind{make_thermal_sensors, {"thermal"}, false, false, make_board_zone_sensors},
    SensorKind{make_rapl_sensors, {"rapl"}},
    SensorKind{make_nvml_sensors, {"nvml"}, false, true},
    SensorKind{make_amd_gpu_sensors, {"amdgpu"}},
    SensorKind{make_intel_gpu_sensors, {"intel_gpu"}},
    SensorKind{make_jetson_sensors, {"gpu_load", "emc", "ina3221", "jetson"}},
};

}  // namespace

std::span<const SensorKind> sensor_kinds() noexcept {
  return kinds;
}

}  // namespace kymo::sense
