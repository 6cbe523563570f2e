// The table of boards, and what of a board is of no interest to users of include/kymo/board.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/board.hpp>

namespace kymo::sense {

/// What kymo knows of a kind of board. Rails and zones are found on the machine; a board adds only their order.
struct BoardEntry {
  std::string_view name;
  /// "maker,part": one of them stands in the device tree's `compatible`. The first entry that matches is taken.
  std::span<const std::string_view> compatible_parts;
  unsigned cpu_cores = 0;  ///< 0: counted
  std::span<const std::string_view> gpu_load_paths;
  std::span<const std::string_view> gpu_clock_paths;  ///< hertz
  std::string_view emc_actmon_path;
  std::string_view emc_clk_rate_path;
  std::span<const std::string_view> zones;  ///< these first, in this order; others follow as they are numbered
};

[[nodiscard]] std::span<const BoardEntry> board_table();

/// The entry of a board that detect_board() or get_board_config() gave.
[[nodiscard]] const BoardEntry& board_entry(std::string_view name);

/// The first of the paths that is there below a root, with the root; the first of all where none is; empty for none.
[[nodiscard]] std::string first_existing(const std::string& root, std::span<const std::string_view> paths);

/// The power mode that nvpmodel has set, "2 (15W)"; the name only where its configuration tells it, empty where there
/// is none. For a capture's header.
[[nodiscard]] std::string describe_power_mode(const std::string& root);

}  // namespace kymo::sense
