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

enum class SortKey { total, self, count, mean, min, p50, p95, p99, max, name };

struct StatsOptions {
  CaptureArguments captures;
  bool is_json = false;
  bool by_process = false;
  bool decodes_all = false;
  std::optional<SortKey> sort;
  std::size_t top = 0;               ///< 0: not given
  std::vector<std::string> filters;  ///< patterns; only rows whose name fits one are shown
  bool has_metrics = false;          ///< shows metrics of the machine too

  // The selected part of the recording.
  std::vector<std::string> sites;
  std::vector<std::string> threads;
  std::optional<stats::FrameRange> frames;
  std::optional<RelativeRange> time;
  std::optional<std::uint64_t> phase;

  // Views that replace the tables.
  bool has_tree = false;
  double least_share = 0.1;  ///< of rows of the tree, in percent
  std::size_t depth = 40;    ///< of the tree
  std::size_t slowest_frames = 0;
  bool has_phases = false;
  bool has_energy = false;

  // Additions to the tables.
  bool has_histograms = false;
  std::vector<std::string> with;

  std::vector<std::string> power_sources;
  std::optional<double> idle_watts;

  /// By self time; in JSON and of joules by total.
  [[nodiscard]] SortKey sort_key() const {
    return sort.value_or(is_json || has_energy ? SortKey::total : SortKey::self);
  }
  [[nodiscard]] bool has_selection() const { return !sites.empty() || !threads.empty() || frames || time || phase; }
};

void add_stats_options(CLI::App& command, StatsOptions& options);

/// The selected part of the timeline.
[[nodiscard]] stats::SelectionOptions selection_of(const Timeline& timeline, const StatsOptions& options);

/// Parses "10..20", "10..", "..20", "7". Returns nothing for other texts.
[[nodiscard]] std::optional<stats::FrameRange> parse_frames(const std::string& text);
}  // namespace kymo::command
