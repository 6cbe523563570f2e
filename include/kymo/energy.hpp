// Joules per site, GPU span, frame and phase of a capture: the machine's power, divided among the concurrent scopes.
//
//     const kymo::EnergyStatistics energy = kymo::read_energy(kymo::Timeline("run.kymo"));
//
// Threads with open scopes share the power of their machine: by CPU time where it was sampled, otherwise equally.
// Joules of scopes are therefore estimates wherever several threads ran. See docs/energy.md. Component kymo::analysis.
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

/// Joules and their uncertainty.
struct Energy {
  double joules = 0;
  /// Bound on the error of the joules, for the time in which the source was readable.
  ///
  /// A power curve consists of pieces, each from one renewal of the source to the next. The total energy of a piece
  /// lies between `low` and `high` joules. Both come from the counter; for a power gauge they are widened by half the
  /// change of slope between neighbouring samples. A piece that lies wholly within the selection at a share s of the
  /// power contributes between s * low and s * high. If the share changes within the piece, or if CPU time does not
  /// tell when in it the threads ran, it contributes between (smallest share) * low and (largest share) * high, since
  /// the distribution of energy within a piece is unknown. The bound is the distance to the farther end of the summed
  /// range.
  double bound_joules = 0;
  /// Part of the own time in which the source was not readable; its energy is not in the joules. For a site: the time
  /// that its scopes were open then, at most their whole time.
  double unknown_s = 0;

  Energy& operator+=(const Energy& other) {
    joules += other.joules;
    bound_joules += other.bound_joules;
    unknown_s += other.unknown_s;
    return *this;
  }

  /// True if any of it could be read. Otherwise the joules are missing, not zero.
  [[nodiscard]] bool is_known() const { return joules != 0 || unknown_s == 0; }
};

/// Energy of one power source.
struct SourceEnergy {
  std::string name;  ///< "cpu_energy package=0 domain=package"
  MetricId metric{};
  PowerSide side = PowerSide::machine;
  EnergyMethod method = EnergyMethod::counter;
  bool is_estimated = false;    ///< the source declares its values as estimates
  std::int64_t renewal_ns = 0;  ///< time resolution: shorter intervals are not resolved
  Energy energy;                ///< over the whole timeline
  double known_s = 0;           ///< time in which it could be read
  std::size_t gaps = 0;
};

/// The scopes of one site. Scopes open at the start or end of the recording count for the recorded part.
struct SiteEnergy {
  SiteId site{};  ///< one of them, if equal sites of several processes are joined
  std::size_t processes = 1;
  std::uint64_t count = 0;
  std::uint64_t unresolved = 0;  ///< scopes shorter than the renewal of a source
  Energy inclusive;              ///< counts recursion once
  Energy self;                   ///< without nested scopes on the same thread
  double idle_joules = 0;        ///< share of `inclusive` that an idle machine would have used in this time

  /// True if the joules of single scopes are meaningful: at least half of the scopes last as long as the sources'
  /// renewal.
  [[nodiscard]] bool is_resolved() const { return 2 * unresolved <= count; }
};

/// The spans of one name on queue tracks. GPU power only.
struct SpanEnergy {
  NameId name{};
  std::uint64_t count = 0;
  std::uint64_t unresolved = 0;
  Energy energy;

  [[nodiscard]] bool is_resolved() const { return 2 * unresolved <= count; }
};

/// The joules of a frame stream.
struct FrameEnergy {
  FrameStreamId stream{};
  std::size_t processes = 1;
  std::uint64_t count = 0;
  std::uint64_t unresolved = 0;
  Energy machine;
  Energy gpu;

  [[nodiscard]] bool is_resolved() const { return 2 * unresolved <= count; }
};

/// The joules of a phase.
struct PhaseEnergy {
  Phase phase;
  bool is_resolved = true;
  Energy machine;
  Energy gpu;
};

/// The joules of a timeline: per source, site, GPU span, frame and phase.
struct EnergyStatistics {
  std::vector<SourceEnergy> sources;                          ///< empty: nothing measured power
  std::vector<std::pair<std::string, std::string>> left_out;  ///< sources that would count twice, and the reason
  std::vector<SiteEnergy> sites;                              ///< by descending inclusive joules; likewise spans
  std::vector<SpanEnergy> spans;
  std::vector<FrameEnergy> frame_streams;
  std::vector<PhaseEnergy> phases;  ///< by ascending start
  Energy machine;                   ///< whole timeline
  Energy gpu;
  bool shares_by_cpu_time = false;  ///< scopes share by their threads' CPU time where it was sampled, otherwise equally
  double in_scopes_joules = 0;      ///< part of `machine` used while any scope was open on it
  std::optional<double> idle_watts;  ///< sum over all machines; none: no second was recorded completely
  bool is_idle_given = false;
  double idle_joules = 0;  ///< part of `machine`
};

/// Divides the energy of a whole timeline. Makes two passes, about 100 ns a scope and source. Memory holds the power
/// samples, the frames' times and all open scopes and spans. `by_process` works as in read_statistics().
/// `power_sources` selects sources by metric name, label value or full name; by default, the sources that feed the
/// machine. `idle_watts` sets the power of an idle machine; by default, the lowest mean of any second.
[[nodiscard]] KYMO_API EnergyStatistics read_energy(const Timeline& timeline, bool by_process = false,
                                                    const std::vector<std::string>& power_sources = {},
                                                    std::optional<double> idle_watts = {});

}  // namespace kymo
