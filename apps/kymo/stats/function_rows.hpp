// How tables of functions and lines of sampled stacks say what they have.
#pragma once

#include <cstdint>
#include <string>

#include <kymo/timeline.hpp>

#include "apps/kymo/shared/warnings.hpp"
#include "stats/statistics/function_statistics.hpp"

namespace kymo::command {

/// Half the width of the 95 % interval that holds a share, in percentage points: "1.4".
[[nodiscard]] std::string format_reach(std::uint64_t hits, std::uint64_t samples);
/// A function's file without its directory.
[[nodiscard]] std::string module_text(const stats::FunctionStatistics& row);
/// A place in the source as "cart.cpp:31"; "-" if it is not known.
[[nodiscard]] std::string line_text(const stats::FunctionStatistics& row);
/// Warns where the shares are of less than all that the threads did on a CPU.
void warn_of_samples(const Timeline& timeline, const stats::SampledFunctions& found, Warnings& warnings);
/// Whether a line of the source is known of any stack.
[[nodiscard]] bool knows_lines(const Timeline& timeline);

}  // namespace kymo::command
