// Joules per site, GPU span, frame and phase: the power of the machine shared among what ran meanwhile.
//
// Threads that have scopes open at the same time share the power of their machine equally at that moment, since no
// capture says how much CPU time each scope took: joules of scopes are estimates wherever several threads ran. Power of
// GPUs goes to the spans of queue tracks in the same way, and beside that of the machine to frames and phases, which
// get all the power of their stretch of time. A machine is what processes of one boot (or of one host where that is not
// known) have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kymo/energy.hpp>
#include <kymo/timeline.hpp>

#include "base/power_choice.hpp"
#include "stats/power_curve.hpp"

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
  std::optional<double> idle_watts;        ///< of a machine; else the least mean of a second
  std::function<void(double)> on_progress = {};
};

/// Two passes over the timeline, about 100 ns a scope and source. Memory: the power samples, the frames' times, and
/// what is open at a time; it does not grow with the scopes.
[[nodiscard]] EnergyStatistics gather_energy(const Timeline& timeline, const EnergyOptions& options = {});

}  // namespace kymo::stats
