// Explanations on a page.
#pragma once

#include <string>
#include <vector>

#include <kymo/explain.hpp>

namespace kymo::command {

/// Appends a section with a sentence and a table for each; nothing if there are none.
void append_explanations(const std::vector<Explanation>& explanations, std::string& out);

}  // namespace kymo::command
