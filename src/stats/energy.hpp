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

#include <kymo/timeline.hpp>

#include "base/power_choice.hpp"
#include "stats/power_curve.hpp"

namespace kymo::stats {

using base::PowerSide;

/// A power source that was added up.
struct SourceEnergy {
  std::string name;  ///< "cpu_energy package=0 domain=package"
  MetricId metric = 0;
  PowerSide side = PowerSide::machine;
  EnergyMethod method = EnergyMethod::counter;
  bool is_estimated = false;    ///< the source says so of its numbers
  std::int64_t renewal_ns = 0;  ///< what is shorter is not resolved
  Energy energy;                ///< over the whole timeline
  double known_s = 0;           ///< time for which it could be read
  std::size_t gaps = 0;
};

/// The scopes of one site. Those that were open when reading began or ended count as far as they were seen.
struct SiteEnergy {
  SiteId site = 0;  ///< one of them, where equal sites of several processes are joined
  std::size_t processes = 1;
  std::uint64_t count = 0;
  std::uint64_t unresolved = 0;  ///< shorter than the renewal of a source
  Energy inclusive;              ///< recursion counts once
  Energy self;                   ///< without the scopes inside, on the same thread
  double idle_joules = 0;        ///< what an idle machine would have used meanwhile, out of `inclusive`

  /// The joules of one scope mean something: at least half are as long as the sources' renewal.
  [[nodiscard]] bool is_resolved() const { return 2 * unresolved <= count; }
};

/// The spans of one name on queue tracks. Only GPU power.
struct SpanEnergy {
  NameId name = 0;
  std::uint64_t count = 0;
  std::uint64_t unresolved = 0;
  Energy energy;

  [[nodiscard]] bool is_resolved() const { return 2 * unresolved <= count; }
};

struct FrameEnergy {
  FrameStreamId stream = 0;
  std::size_t processes = 1;
  std::uint64_t count = 0;
  std::uint64_t unresolved = 0;
  Energy machine;
  Energy gpu;

  [[nodiscard]] bool is_resolved() const { return 2 * unresolved <= count; }
};

struct PhaseEnergy {
  Phase phase;
  bool is_resolved = true;
  Energy machine;
  Energy gpu;
};

struct EnergyStatistics {
  std::vector<SourceEnergy> sources;                          ///< empty: nothing measured power
  std::vector<std::pair<std::string, std::string>> left_out;  ///< sources that would count twice, and why
  std::vector<SiteEnergy> sites;                              ///< by falling inclusive joules, as are spans
  std::vector<SpanEnergy> spans;
  std::vector<FrameEnergy> frame_streams;
  std::vector<PhaseEnergy> phases;  ///< by ascending start
  Energy machine;                   ///< of the whole timeline
  Energy gpu;
  bool shares_by_cpu_time = false;  ///< scopes share by their threads' CPU time, as far as it was sampled, else equally
  double in_scopes_joules = 0;      ///< of `machine`: while a scope was open anywhere on it
  std::optional<double> idle_watts;  ///< of all machines; none: no second could be seen as a whole
  bool is_idle_given = false;
  double idle_joules = 0;  ///< of `machine`
};

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
