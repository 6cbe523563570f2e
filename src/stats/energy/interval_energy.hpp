// Joules of intervals, divided among what ran in them: the innermost scopes of threads, and the spans of queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <kymo/energy.hpp>
#include <kymo/timeline.hpp>

#include "stats/energy/power_readings.hpp"

namespace kymo::stats {

/// An interval of a process.
struct EnergyInterval {
  TimeRange range;
  ProcessId process{};
};

/// Who used joules in an interval: a site's scopes on a thread while they were the innermost, or a queue's spans of a
/// name.
struct EnergyUser {
  TrackId track{};
  SiteId site{};
  NameId span{};
};

struct EnergyPart {
  EnergyUser user;
  double joules = 0;
  double share_s = 0;  ///< the user's share of the power, integrated over time
};

/// What the interval's machine took beyond the sum of the parts, it took while no scope was open, and its GPUs without
/// spans.
struct DividedEnergy {
  std::vector<EnergyPart> parts;
};

/// The power of a timeline.
class IntervalEnergies {
 public:
  /// A pass over the samples.
  explicit IntervalEnergies(const Timeline& timeline);

  [[nodiscard]] bool has_sources() const { return !power_.sources().empty(); }
  /// The joules of machine and GPUs in an interval. A binary search for each source.
  [[nodiscard]] Energy between(const EnergyInterval& interval);
  /// The longest renewal of the machine's sources; 0: not known.
  [[nodiscard]] std::int64_t renewal_ns(ProcessId process);

  /// The same joules by their users, in the order of the intervals, which may overlap. Two passes over the scopes.
  /// Beyond `most_parts` parts, further users have no part.
  [[nodiscard]] std::vector<DividedEnergy> divide(const std::vector<EnergyInterval>& intervals,
                                                  const std::function<void(double)>& on_progress = nullptr);

  static constexpr std::size_t most_parts = 1'000'000;

 private:
  const Timeline& timeline_;
  PowerReadings power_;
};

}  // namespace kymo::stats
