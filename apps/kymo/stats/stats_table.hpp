// kymo stats: sites, spans, frame streams and metrics, as tables and as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <kymo/timeline.hpp>

#include "apps/kymo/stats/stats_options.hpp"
#include "stats/statistics/lock_statistics.hpp"
#include "stats/statistics/site_metrics.hpp"
#include "stats/statistics/site_run_times.hpp"
#include "stats/statistics/statistics.hpp"

namespace kymo::command {

/// Options of all tables.
struct StatsTableOptions {
  bool by_process = false;
  std::size_t top = 0;                          ///< rows of a table; 0: all
  stats::SiteMetrics* beside = nullptr;         ///< in columns of their own
  double length_ns = 0;                         ///< of the part of the run that the statistics are of
  stats::RunTimesOfSites* run_times = nullptr;  ///< likewise
  bool has_histograms = false;                  ///< sketches of durations; in JSON their buckets
  bool is_brief = false;                        ///< no metrics of single cores, and none that stayed the same
};

/// Throws Failure if the key is of run states and none were recorded.
void sort_sites(const Timeline& timeline, std::vector<stats::SiteStatistics>& sites, SortKey key,
                stats::RunTimesOfSites* run_times = nullptr);

/// Whether the column tells what threads did.
[[nodiscard]] bool is_of_states(SortKey key);

/// Whether a row comes before another one by a column that is not of run states.
[[nodiscard]] bool goes_before(const Timeline& timeline, const stats::SiteStatistics& a, const stats::SiteStatistics& b,
                               SortKey key, stats::RunTimesOfSites* run_times = nullptr);

/// Prints sites, with the share of the run's length that is their self time, and spans, frames and metrics if there
/// are any.
void print_sites(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& options);
void print_spans(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& options);
void print_frames(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& options);
/// The metrics that the program recorded, or those of the machine.
void print_metrics(const Timeline& timeline, const stats::Statistics& statistics, const StatsTableOptions& options,
                   bool is_own_ones);

/// Locks: which threads waited for them, and the holders.
void print_locks(const std::vector<stats::LockStatistics>& locks, const StatsTableOptions& options);

/// The same as JSON: "sites", "spans", "frame_streams", "metrics", "locks".
[[nodiscard]] nlohmann::ordered_json tables_to_json(const Timeline& timeline, const stats::Statistics& statistics,
                                                    const std::vector<stats::LockStatistics>& locks,
                                                    const StatsTableOptions& options);

/// A site's name for a table. The wait for a lock names the holder too: "wait for queue, held by load".
[[nodiscard]] std::string site_name(const SiteDeclaration& site, std::size_t width = static_cast<std::size_t>(-1));
/// The end of its file's path with the line; a table omits the directory.
[[nodiscard]] std::string place_of(const SiteDeclaration& site);
/// Name, function, file, line.
[[nodiscard]] nlohmann::ordered_json site_to_json(const SiteDeclaration& site);

}  // namespace kymo::command
