// Writes explanations as text and JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/explain_run.hpp>
#include <kymo/timeline.hpp>

#include <nlohmann/json_fwd.hpp>

namespace kymo::command {

/// A sentence, a table of findings, what goes along, and where to look next.
void print_explanations(const Timeline& timeline, const std::vector<std::string>& paths,
                        const std::vector<Explanation>& explanations);

/// The evidence of a finding, numbered from 1 over all explanations: its parts, how often it owned how much, its
/// instances. Throws Failure if there is no such finding.
void print_evidence(const Timeline& timeline, const std::vector<Explanation>& explanations, std::size_t number);

/// The command that shows a frame, or a scope.
void print_look_at(const Timeline& timeline, const std::vector<std::string>& paths, const Instance& instance,
                   bool is_scope);

/// A sentence and a table of findings. `number`: of the last finding before; becomes that of the last.
void print_explanation(const Explanation& why, std::size_t& number);
/// Durations in nanoseconds, times since the start of the recording.
[[nodiscard]] nlohmann::ordered_json json_of(const Timeline& timeline, const Explanation& why);

/// Durations in nanoseconds, times since the start of the recording.
void print_explanations_json(const Timeline& timeline, const std::vector<Explanation>& explanations,
                             const std::vector<std::string>& warnings);

/// A sentence and a table of where the time of the run went.
void print_run(const RunExplanation& run);
/// Durations in nanoseconds, times since the start of the recording.
void print_run_json(const Timeline& timeline, const RunExplanation& run, const std::vector<std::string>& warnings);

}  // namespace kymo::command
