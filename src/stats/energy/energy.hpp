// Joules per site, GPU span, frame and phase: the machine's power, divided among the concurrent scopes.
//
// Threads with open scopes share the power of their machine at each moment: by CPU time where it was sampled, otherwise
// equally. Joules of scopes are therefore estimates wherever several threads ran. GPU power goes to the spans of queue
// tracks in the same way. Frames and phases get all the power of their interval, of the machine and of the GPUs. A
// machine is shared by the processes of one boot, or of one host if the boot is unknown.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <kymo/energy.hpp>
#include <kymo/timeline.hpp>

#include "stats/common/power_curve.hpp"

namespace kymo::stats {

using kymo::EnergyStatistics;
using kymo::FrameEnergy;
using kymo::PhaseEnergy;
using kymo::PowerSide;
using kymo::SiteEnergy;
using kymo::SourceEnergy;
using kymo::SpanEnergy;

struct EnergyOptions {
  bool by_process = false;                 ///< as in StatisticsOptions
  std::vector<std::string> power_sources;  ///< base::choose_power_sources(): names
  std::optional<double> idle_watts;        ///< of a machine; by default the lowest mean of any second
  bool only_totals = false;                ///< `sources`, `machine`, `gpu`: one pass, over the samples alone
  std::function<void(double)> on_progress = {};
};

/// Two passes over the timeline, about 100 ns a scope and source. Memory holds the power samples, the frames' times,
/// and all open scopes and spans; it does not grow with the number of scopes.
[[nodiscard]] EnergyStatistics gather_energy(const Timeline& timeline, const EnergyOptions& options = {});

}  // namespace kymo::stats
