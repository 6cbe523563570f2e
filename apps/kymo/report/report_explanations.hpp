// Explanations on a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/explain_energy.hpp>
#include <kymo/explain_run.hpp>

namespace kymo::command {

/// Appends a section with a sentence and a table for each, that of joules last; nothing if there are none.
void append_explanations(const std::vector<Explanation>& explanations,
                         const std::optional<EnergyExplanation>& of_energy, std::string& out);

/// Where the time of the run went; nothing without an answer.
void append_run(const std::optional<RunExplanation>& run, std::string& out);

}  // namespace kymo::command
