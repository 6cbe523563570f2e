// Boards: which files of a machine hold its GPU load, memory load, power rails and temperatures.
//
//     const kymo::BoardConfig board = kymo::detect_board();
//     for (const kymo::PowerRail& rail : board.power_rails) { ... rail.label, rail.voltage_path ... }
//
// Component kymo::sense. docs/adding-a-board.md walks through adding a board.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// A supply whose voltage and current are measured.
struct PowerRail {
  std::string label;         ///< as the board names it: "VDD_GPU_SOC"
  std::string voltage_path;  ///< a file that holds millivolts
  std::string current_path;  ///< a file that holds milliamperes
  bool is_total = false;     ///< it feeds other rails of the board as well
};

/// A place whose temperature is measured.
struct ThermalZone {
  std::string name;       ///< the zone's type: "cpu-thermal"
  std::string temp_path;  ///< a file that holds thousandths of a degree Celsius; reads as EAGAIN while powered down
};

/// A board and its files. Paths begin with the root that they were looked for below; an empty one: there is none.
struct BoardConfig {
  std::string board_name;  ///< "agx_orin", "orin_nx", "orin_nano", "generic"
  unsigned num_cpu_cores = 0;
  std::string gpu_load_path;      ///< holds the GPU's load in tenths of a percent
  std::string emc_actmon_path;    ///< holds the memory controller's busy cycles; sample_period_usec lies beside it
  std::string emc_clk_rate_path;  ///< holds the memory controller's clock
  std::vector<PowerRail> power_rails;
  std::vector<ThermalZone> thermal_zones;
};

/// The board that a machine is, by its device tree; "generic" where it has none. `root` is where the machine's files
/// lie. Some milliseconds: each power rail is read once. Throws std::runtime_error for a device tree of no known board.
/// Thread safe.
[[nodiscard]] KYMO_API BoardConfig detect_board(std::string_view root = "/");

/// A board by its name: what is known of it, with those of its rails and zones that are there. Throws
/// std::runtime_error for a name that is not known. Thread safe.
[[nodiscard]] KYMO_API BoardConfig get_board_config(std::string_view name, std::string_view root = "/");

}  // namespace kymo
