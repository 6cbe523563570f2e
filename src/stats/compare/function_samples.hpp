// Functions as things to compare: the CPU time of each, slice by slice of a run.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/compare/side_samples.hpp"

namespace kymo::stats {

/// The functions of one run. A value is a function's own CPU time in one of up to 20 equal parts of the run's time,
/// times their number: what the run would take at that rate. A run of few samples has fewer parts, so that each has 100
/// or more. Nothing if the timeline has no sampled stacks or does not say their rate. Takes 8 bytes a declared stack
/// and slice that was met.
using FunctionRun = std::map<ThingName, RunValues>;
[[nodiscard]] FunctionRun read_function_run(const Timeline& timeline,
                                            const std::function<void(double)>& on_progress = {});

/// A function that never has this share of a run is left out: chance is all that could be said of it.
constexpr double least_function_share = 0.005;

/// Adds the runs to their sides, with zeros where a run has none of a function.
void add_function_runs(SideSamples& base, std::vector<FunctionRun> base_runs, SideSamples& changed,
                       std::vector<FunctionRun> changed_runs);

}  // namespace kymo::stats
