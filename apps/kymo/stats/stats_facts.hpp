// Facts about a recorded run, for the first lines of outputs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <kymo/timeline.hpp>

#include "stats/statistics/statistics.hpp"

namespace kymo::command {

/// The process that did the work, rather than the one that sampled. The timeline must have a process.
[[nodiscard]] const TimelineProcess& main_process(const Timeline& timeline);
/// A fact of the process by its key; empty if it has none.
[[nodiscard]] std::string_view fact_of(const TimelineProcess& process, std::string_view key);
/// The same of whichever process has one.
[[nodiscard]] std::string_view fact_of(const Timeline& timeline, std::string_view key);
/// Host, processor, number of CPUs, kernel, architecture: those that are known.
[[nodiscard]] std::string machine_of(const TimelineProcess& process);
/// Processes that recorded scopes or frames of their own, rather than being watched or watching.
[[nodiscard]] std::size_t count_recording_processes(const Timeline& timeline);
/// "5,316 scopes on 5 threads in 2 processes".
[[nodiscard]] std::string describe_scopes(const Timeline& timeline, const stats::Statistics& statistics);
/// Whether the program itself recorded the metric, rather than the sampler from a source of the machine.
[[nodiscard]] bool is_own(const MetricDeclaration& metric);

}  // namespace kymo::command
