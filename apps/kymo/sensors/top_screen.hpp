// The display of kymo top: samples in groups, processes, as lines of any width. Nothing is read or drawn here.
//
//     Power
//     power rail=VDD_IN      12.5 W       11.0 W       14.2 W   ▂▃▅▇▆
//     CPU
//     0 ▕██████▏  61.2 %   1 ▕███   ▏  30.0 %
//     2 constant: cpu_clock 2600 MHz, tasks_blocked 0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/kymo/sensors/live_table.hpp"

namespace kymo::command {

/// A process of the machine.
struct TopProcess {
  std::uint64_t pid = 0;
  std::string name;
  double cpu_percent = 0;  ///< of one core, since the look before
  std::uint64_t resident_bytes = 0;
};

/// A process that has memory of a GPU, as its driver lists them.
struct TopGpuProcess {
  unsigned gpu = 0;
  std::uint64_t pid = 0;
  std::string name;  ///< empty: it is in another container
  std::uint64_t bytes = 0;
  bool is_memory_known = false;
  std::optional<double> percent = {};  ///< of the GPU's time, within the last second; nothing: not known
};

/// A recorded process among several.
struct TopRecorded {
  static constexpr std::size_t cell_count = 8;
  std::array<std::string, cell_count> cells;  ///< printable, as recorded_columns has them; empty: not known
  const LiveRow* drawn = nullptr;             ///< the sparkline's; null: none
};

/// A column of recorded processes. On a narrow terminal the greatest rank goes first.
struct TopRecordedColumn {
  const char* title;
  bool is_text;
  int rank;
};
inline constexpr std::array<TopRecordedColumn, TopRecorded::cell_count> recorded_columns{{{"rank", false, 1},
                                                                                          {"process", false, 0},
                                                                                          {"host", true, 6},
                                                                                          {"cpu", false, 2},
                                                                                          {"memory", false, 3},
                                                                                          {"gpu", false, 4},
                                                                                          {"power", false, 5},
                                                                                          {"frame", false, 1}}};

/// What is shown.
struct TopData {
  std::string title;
  std::vector<const LiveRow*> rows;
  std::vector<TopRecorded> recorded;  ///< for captures of several processes
  std::vector<TopProcess> processes;  ///< by falling CPU share
  std::vector<TopGpuProcess> gpu_processes;
};

/// How it is shown.
struct TopView {
  std::size_t columns = 80;
  std::size_t rows = 0;  ///< of the terminal; 0: as many as there are
  std::size_t scroll = 0;
  bool has_colour = false;
  bool folds_constants = true;
  bool shows_help = false;
  bool is_typing = false;  ///< the filter
  std::string filter;      ///< part of a name, in letters of any size; empty: all
};

/// The lines, none wider than a view of at least 24 columns, and as many as it has rows at most. `scroll` becomes the
/// nearest that shows something. Colours are SGR sequences, the only control characters.
[[nodiscard]] std::vector<std::string> top_screen(const TopData& data, TopView& view);

/// The body alone, without title and limits, for pipes.
[[nodiscard]] std::vector<std::string> top_body(const TopData& data, const TopView& view);

}  // namespace kymo::command
