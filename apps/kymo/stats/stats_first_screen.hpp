// kymo stats: the first screen, with what a person asks first.
#pragma once

#include <vector>

#include <kymo/timeline.hpp>

#include "apps/kymo/stats/stats_options.hpp"
#include "apps/kymo/stats/stats_table.hpp"
#include "stats/statistics/stretches.hpp"

namespace kymo::command {

/// What the first screen shows.
struct FirstScreen {
  stats::Statistics statistics;  ///< sites in the order of rows
  std::vector<stats::LockStatistics> locks;
  stats::SlowFrames slow;  ///< the slowest, if the recording has frames
};

/// The command, facts of the run, sites, spans, locks, frames with the slowest, metrics, and how to see the rest.
void print_first_screen(const Timeline& timeline, const FirstScreen& found, const StatsOptions& options,
                        const StatsTableOptions& table);

}  // namespace kymo::command
