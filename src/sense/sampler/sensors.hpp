// The table of all sensors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sense/common/sensor.hpp"

namespace kymo::sense {

struct SensorKind {
  SensorMaker* make;
  std::array<std::string_view, 4> names;  // of the sensors that it creates
  bool is_of_process = false;             // measures the process tree rather than the machine
  bool is_slow_to_make = false;
  /// Replaces `make` if the context has a board.
  SensorMaker* make_of_board = nullptr;
  std::string_view power = {};  // the one of the names that measures power; empty: none
};

/// All sensors of this system in creation order: the table in linux.cpp or macos.cpp.
[[nodiscard]] std::span<const SensorKind> sensor_kinds() noexcept;

/// Which sensors to create. Some of the machine's are slow to create: a GPU's driver may have to wake up first.
enum class SensorGroup : std::uint8_t { all, of_process, quick_of_machine, slow_of_machine };

/// Creates the sensors of a group that the options request. Throws std::invalid_argument for a name that no sensor has.
[[nodiscard]] SensorList make_sensors(const SensorOptions& options, SensorGroup group = SensorGroup::all);

/// Throws std::invalid_argument for a name that no sensor has. "-name" excludes one.
void check_sensor_names(const std::vector<std::string>& names);

/// Whether a sensor can measure power.
[[nodiscard]] bool is_of_power(std::string_view sensor);

/// All sensor names, in the order of make_sensors().
[[nodiscard]] std::vector<std::string> sensor_names();

}  // namespace kymo::sense
