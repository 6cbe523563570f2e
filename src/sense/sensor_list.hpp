// All sensors there are.
#pragma once

#include "sense/sensor.hpp"

namespace kymo::sense {

// Each adds the sensors of one kind of source, whether or not it is there.
void make_cpu_sensors(const SensorContext& context, SensorList& list);
void make_cpu_clock_sensors(const SensorContext& context, SensorList& list);
void make_memory_sensors(const SensorContext& context, SensorList& list);
void make_process_sensors(const SensorContext& context, SensorList& list);
void make_thread_sensors(const SensorContext& context, SensorList& list);
void make_disk_sensors(const SensorContext& context, SensorList& list);
void make_network_sensors(const SensorContext& context, SensorList& list);
void make_pressure_sensors(const SensorContext& context, SensorList& list);
void make_cgroup_sensors(const SensorContext& context, SensorList& list);
void make_hwmon_sensors(const SensorContext& context, SensorList& list);
void make_thermal_sensors(const SensorContext& context, SensorList& list);
void make_rapl_sensors(const SensorContext& context, SensorList& list);
void make_nvml_sensors(const SensorContext& context, SensorList& list);
void make_amd_gpu_sensors(const SensorContext& context, SensorList& list);
void make_intel_gpu_sensors(const SensorContext& context, SensorList& list);
void make_jetson_sensors(const SensorContext& context, SensorList& list);
/// Instead of make_thermal_sensors() where the context has a board.
void make_board_zone_sensors(const SensorContext& context, SensorList& list);

/// Some sensors take long to make: a GPU's driver may have to wake up first.
enum class Making : std::uint8_t { all, only_quick, only_slow };

/// The sensors that the options ask for. Throws std::invalid_argument for a name that no sensor has.
[[nodiscard]] SensorList make_sensors(const SensorOptions& options, Making making = Making::all);

/// Whether a sensor watches the process tree rather than the machine.
[[nodiscard]] bool is_of_process(std::string_view sensor);

/// The names that sensors can have, in the order that make_sensors() gives them.
[[nodiscard]] std::vector<std::string> sensor_names();

}  // namespace kymo::sense
