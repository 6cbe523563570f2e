// What kymo stats can show: each reads what it needs of a timeline, prints it, and returns the exit code.
#pragma once

#include <nlohmann/json.hpp>

#include <kymo/timeline.hpp>

#include "stats_options.hpp"
#include "warnings.hpp"

namespace kymo::command {

/// Sites, spans, frame streams and metrics.
int show_tables(const Timeline& timeline, const StatsOptions& options);
/// --tree
int show_tree(const Timeline& timeline, const StatsOptions& options);
/// --slowest-frames
int show_slowest_frames(const Timeline& timeline, const StatsOptions& options);
/// --phases
int show_phases(const Timeline& timeline, const StatsOptions& options);
/// --energy
int show_energy(const Timeline& timeline, const StatsOptions& options);

/// Looks for warnings after everything was read, with the drops of the whole recording.
[[nodiscard]] Warnings find_all_warnings(const Timeline& timeline);

/// A moment of the timeline's axis as a duration since its start.
[[nodiscard]] std::string since_start(const Timeline& timeline, std::int64_t time_ns);
/// " of process 123" where there are several.
[[nodiscard]] std::string process_note(const Timeline& timeline, ProcessId process);

/// Warns of self times that are upper bounds.
void warn_of_gaps(const stats::Statistics& statistics, Warnings& warnings);

}  // namespace kymo::command
