// kymo stats: sites, spans, frame streams and metrics, as tables and as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <kymo/timeline.hpp>

#include "apps/kymo/stats/stats_options.hpp"
#include "stats/statistics/site_metrics.hpp"
#include "stats/statistics/statistics.hpp"

namespace kymo::command {

/// Options of all tables.
struct StatsTableOptions {
  bool by_process = false;
  std::size_t top = 0;                   ///< rows of sites; 0: all
  stats::SiteMetrics* beside = nullptr;  ///< in columns of their own
};

void sort_sites(const Timeline& timeline, std::vector<stats::SiteStatistics>& sites, SortKey key);

/// Prints sites, and spans, frames and metrics if there are any.
void print_sites(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& options);
void print_spans(const Timeline& timeline, const stats::Statistics& statistics);
void print_frames(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& options);
void print_metrics(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& options);

/// Locks: which threads waited for them, and the holders.
void print_locks(const Timeline& timeline, const stats::Statistics& statistics);

/// The same as JSON: "sites", "spans", "frame_streams", "metrics", "locks".
[[nodiscard]] nlohmann::ordered_json tables_to_json(const Timeline& timeline, const stats::Statistics& statistics,
                                                    const StatsTableOptions& options);

/// A site's name for a table.
[[nodiscard]] std::string site_name(const SiteDeclaration& site, std::size_t width = 48);
/// The end of its file's path with the line; a table omits the directory.
[[nodiscard]] std::string place_of(const SiteDeclaration& site);
/// Name, function, file, line.
[[nodiscard]] nlohmann::ordered_json site_to_json(const SiteDeclaration& site);

}  // namespace kymo::command
