// Explanations on a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/explain_energy.hpp>

namespace kymo::command {

/// Appends a section with a sentence and a table for each, that of joules last; nothing if there are none.
void append_explanations(const std::vector<Explanation>& explanations,
                         const std::optional<EnergyExplanation>& of_energy, std::string& out);

}  // namespace kymo::command
