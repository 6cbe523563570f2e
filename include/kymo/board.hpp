// Boards: the files that hold a machine's GPU load, memory load, power rails and temperatures.
//
//     const kymo::BoardConfig board = kymo::detect_board();
//     for (const kymo::PowerRail& rail : board.power_rails) { ... rail.label, rail.voltage_path ... }
//
// Component kymo::sense. docs/adding-a-board.md shows how to add a board.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// A supply rail with measured voltage and current.
struct PowerRail {
  std::string label;         ///< name given by the board: "VDD_GPU_SOC"
  std::string voltage_path;  ///< file that holds millivolts
  std::string current_path;  ///< file that holds milliamperes
  bool is_total = false;     ///< it also feeds other rails of the board
};

/// A temperature sensor.
struct ThermalZone {
  std::string name;       ///< zone type: "cpu-thermal"
  std::string temp_path;  ///< file that holds thousandths of a degree Celsius; reads as EAGAIN while powered down
};

/// A board and its files. Paths begin with the `root` that was searched; an empty path means that the board has no such
/// file.
struct BoardConfig {
  std::string board_name;         ///< "agx_orin", "orin_nx", "orin_nano", "generic"
  unsigned num_cpu_cores = 0;     ///< those that are online, where the machine says it
  std::string gpu_load_path;      ///< GPU load in tenths of a percent
  std::string emc_actmon_path;    ///< busy cycles of the memory controller; sample_period_usec is in the same directory
  std::string emc_clk_rate_path;  ///< clock of the memory controller
  std::vector<PowerRail> power_rails;
  std::vector<ThermalZone> thermal_zones;
};

/// Detects the machine's board by its device tree; "generic" if it has none. `root` is the directory that the machine's
/// files are searched in. Takes some milliseconds: each power rail is read once. Throws std::runtime_error for the
/// device tree of an unknown board. Thread-safe.
[[nodiscard]] KYMO_API BoardConfig detect_board(std::string_view root = "/");

/// Returns a board by name, with all its cores, and with the rails and zones that are found below `root`. If that is
/// another kind of machine, the board's own rails and zones are returned with the paths that JetPack 6 gives them.
/// Throws std::runtime_error for an unknown name. Thread-safe.
[[nodiscard]] KYMO_API BoardConfig get_board_config(std::string_view name, std::string_view root = "/");

}  // namespace kymo
