// The options of kymo stats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "apps/kymo/shared/arguments.hpp"
#include "apps/kymo/shared/ranges.hpp"
#include "stats/common/selection.hpp"
#include "stats/statistics/statistics.hpp"

namespace CLI {
class App;
}

namespace kymo::command {

enum class SortKey { total, self, count, mean, min, p50, p95, p99, p99_9, max, cpu, pushed_off, blocked, name, where };

struct StatsOptions : SelectionArguments {
  CaptureArguments captures;
  bool is_json = false;
  bool by_process = false;
  bool decodes_all = false;
  std::optional<SortKey> sort;
  std::size_t top = 0;               ///< 0: not given
  std::vector<std::string> filters;  ///< patterns; only rows whose name fits one are shown
  bool has_metrics = false;          ///< shows metrics of the machine too

  // Views that replace the tables.
  bool has_tree = false;
  double least_share = 0.1;  ///< of rows of the tree, in percent
  std::size_t depth = 40;    ///< of the tree
  std::size_t slowest_frames = 0;
  bool has_phases = false;
  bool has_energy = false;
  bool has_functions = false;
  bool has_lines = false;
  bool by_thread = false;

  // Additions to the tables.
  bool has_histograms = false;
  std::vector<std::string> with;

  std::vector<std::string> power_sources;
  std::optional<double> idle_watts;

  /// By self time; in JSON and of joules by total.
  [[nodiscard]] SortKey sort_key() const {
    return sort.value_or(is_json || has_energy ? SortKey::total : SortKey::self);
  }
};

void add_stats_options(CLI::App& command, StatsOptions& options);

/// Throws CLI::ValidationError if --by thread comes with another view or what adds to the tables.
void expect_one_view(const StatsOptions& options);

}  // namespace kymo::command
