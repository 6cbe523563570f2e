// The views of kymo stats. Each reads what it needs of a timeline, prints it, and returns the exit code.
#pragma once

#include <kymo/timeline.hpp>

#include "apps/kymo/shared/warnings.hpp"
#include "apps/kymo/stats/stats_options.hpp"
#include "stats/statistics/stretches.hpp"

namespace kymo::command {

/// Sites, spans, frame streams and metrics.
int show_tables(const Timeline& timeline, const StatsOptions& options);
/// --tree
int show_tree(const Timeline& timeline, const StatsOptions& options);
/// --slowest-frames
int show_slowest_frames(const Timeline& timeline, const StatsOptions& options);
/// --phases
int show_phases(const Timeline& timeline, const StatsOptions& options);
/// --functions
int show_functions(const Timeline& timeline, const StatsOptions& options);
/// --by thread
int show_threads(const Timeline& timeline, const StatsOptions& options);
/// --energy
int show_energy(const Timeline& timeline, const StatsOptions& options);

/// Collects warnings after everything was read, with the drops of the whole recording.
[[nodiscard]] Warnings find_all_warnings(const Timeline& timeline);

/// "frame 6: 300 ms, from 500 ms on".
[[nodiscard]] std::string describe_frame(const Timeline& timeline, const stats::SlowFrame& slow);
/// The time since the timeline's start.
[[nodiscard]] std::string since_start(const Timeline& timeline, std::int64_t time_ns);
/// " of process 123" if there are several processes.
[[nodiscard]] std::string process_note(const Timeline& timeline, ProcessId process);

/// Warns about self times that are only upper bounds.
void warn_of_gaps(const stats::Statistics& statistics, Warnings& warnings);

}  // namespace kymo::command
