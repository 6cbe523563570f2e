// What a system has sensors for.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "sense/sensor_list.hpp"

namespace kymo::sense {

struct SensorKind {
  void (*make)(const SensorContext& context, SensorList& list);
  std::array<std::string_view, 4> names;  // of the sensors that it makes
  bool is_of_process = false;             // watches the process tree rather than the machine
  bool is_slow_to_make = false;
  /// Instead of `make` where the context has a board.
  void (*make_of_board)(const SensorContext& context, SensorList& list) = nullptr;
};

/// All of this system, in the order that they are made.
[[nodiscard]] std::span<const SensorKind> sensor_kinds() noexcept;

}  // namespace kymo::sense
