// The table of boards, and facts about boards that users of include/kymo/board.hpp do not need.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <kymo/board.hpp>

namespace kymo::sense {

/// A rail of a board as its maker ships it.
struct BoardRail {
  std::string_view label;
  std::string_view directory;  ///< of its chip, below the driver's; the last number differs by kernel
  char channel = '1';
};

/// A kind of board. Rails and zones are found on the machine; an entry adds the zones' order, and says what there is
/// for configurations made elsewhere.
struct BoardEntry {
  std::string_view name;
  /// "maker,part": one of them occurs in the device tree's `compatible`. The first matching entry is used.
  std::span<const std::string_view> compatible_parts;
  unsigned cpu_cores = 0;  ///< 0: counted
  std::span<const std::string_view> gpu_load_paths;
  std::span<const std::string_view> gpu_clock_paths;  ///< hertz
  std::string_view emc_actmon_path;
  std::string_view emc_clk_rate_path;
  std::span<const std::string_view> zones;  ///< these first, in this order; others follow by number
  std::span<const BoardRail> rails;
};

[[nodiscard]] std::span<const BoardEntry> board_table();

/// The entry of a board returned by detect_board() or get_board_config().
[[nodiscard]] const BoardEntry& board_entry(std::string_view name);

/// The first of the paths that exists below a root, including the root. The first of all if none exists; empty for no
/// paths.
[[nodiscard]] std::string first_existing(const std::string& root, std::span<const std::string_view> paths);

/// NVIDIA's release of the board's software (L4T), "36.3.0"; empty if there is none. For a capture's header.
[[nodiscard]] std::string describe_release(const std::string& root);

/// The number of the power mode in nvpmodel's status, "pmode:0002 fmode:quiet".
[[nodiscard]] std::optional<std::uint64_t> power_mode_in(std::string_view status);

/// The power mode set by nvpmodel, "2 (15W)"; the name only if the configuration has it; empty if there is no mode. For
/// a capture's header.
[[nodiscard]] std::string describe_power_mode(const std::string& root);

}  // namespace kymo::sense
