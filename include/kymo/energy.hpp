// Joules per site, GPU span, frame and phase of a capture: the power of the machine shared among what ran meanwhile.
//
//     const kymo::EnergyStatistics energy = kymo::read_energy(kymo::Timeline("run.kymo"));
//
// Threads that have scopes open at the same time share the power of their machine, by their CPU time where it was
// sampled, else equally: joules of scopes are estimates wherever several threads ran. docs/energy.md says more.
// Component kymo::analysis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kymo/power_side.hpp>
#include <kymo/timeline.hpp>

namespace kymo {

/// Joules, and how sure they are.
struct Energy {
  double joules = 0;
  /// How far off the truth the joules may be, as far as the source was readable.
  ///
  /// Each piece of a power curve (from one renewal of the source to the next) had between `low` and `high` joules in
  /// all, known from the counter or, for a power gauge, widened by half the change of slope between neighbouring
  /// samples. Of a piece that lies wholly within what is asked for, at a share s of the power, between s * low and
  /// s * high are due to it. Where the share changed within the piece, it is anything between the least share times
  /// low and the greatest share times high, since nobody knows when in the piece the energy was spent. The bound is
  /// the distance to the farther end of the sum of these.
  double bound_joules = 0;
  double unknown_s = 0;  ///< time for which the source was not readable; its energy is not in the joules

  Energy& operator+=(const Energy& other) {
    joules += other.joules;
    bound_joules += other.bound_joules;
    unknown_s += other.unknown_s;
    return *this;
  }

  /// Some of it could be read: else the joules are not zero but missing.
  [[nodiscard]] bool is_known() const { return joules != 0 || unknown_s == 0; }
};

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

/// Shares out the energy of a whole timeline. Two passes over it, about 100 ns a scope and source. Memory: the power
/// samples, the frames' times, and what is open at a time. `by_process` is as in read_statistics(). `power_sources`
/// chooses sources by a metric's name, a label's value or a full name, rather than what feeds the machine.
/// `idle_watts`: of an idle machine, else the least mean of a second.
[[nodiscard]] KYMO_API EnergyStatistics read_energy(const Timeline& timeline, bool by_process = false,
                                                    const std::vector<std::string>& power_sources = {},
                                                    std::optional<double> idle_watts = {});

}  // namespace kymo
