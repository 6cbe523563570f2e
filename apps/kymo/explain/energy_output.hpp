// Writes explanations of joules as text and JSON.
#pragma once

#include <string>
#include <vector>

#include <kymo/explain_energy.hpp>
#include <kymo/timeline.hpp>

namespace kymo::command {

/// A sentence, a table of findings, and the frame that took most.
void print_energy_explanation(const Timeline& timeline, const std::vector<std::string>& paths,
                              const EnergyExplanation& why);

/// Joules; times in nanoseconds since the start of the recording.
void print_energy_explanation_json(const Timeline& timeline, const EnergyExplanation& why,
                                   const std::vector<std::string>& warnings);

}  // namespace kymo::command
