// Functions by the samples of stacks that they were on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <kymo/energy.hpp>
#include <kymo/functions.hpp>
#include <kymo/timeline.hpp>

#include "stats/common/selection.hpp"

namespace kymo::stats {

using kymo::FunctionStatistics;
using kymo::SampledFunctions;
using kymo::SampledRows;

struct FunctionOptions {
  SampledRows rows = SampledRows::functions;
  Selection selection;  ///< with sites: only samples taken inside their scopes on the same thread
  std::function<Energy(const StackSample&)> energy_of = {};  ///< what a sample stands for; may be empty
  std::function<void(double)> on_progress = {};
};

/// A pass over the timeline, and with sites another. Takes 52 bytes a declared stack, with energies 100; with sites 56
/// a sample.
[[nodiscard]] SampledFunctions gather_functions(const Timeline& timeline, const FunctionOptions& options);

/// Those in which threads waited, by descending self, then total.
[[nodiscard]] std::vector<const FunctionStatistics*> functions_by_waits(const SampledFunctions& found);

/// The interval that holds a share with 95 % confidence, if `hits` of `samples` independent samples have it (Wilson's).
struct ShareInterval {
  double low = 0;
  double high = 1;
};
[[nodiscard]] ShareInterval share_interval(std::uint64_t hits, std::uint64_t samples);

}  // namespace kymo::stats
