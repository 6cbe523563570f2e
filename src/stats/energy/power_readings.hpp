// The power of a timeline's machines, from its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "base/power/power_choice.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/energy/energy_sharing.hpp"

namespace kymo::stats {

/// The curves of one side of a machine.
struct PowerSideCurves {
  std::vector<const PowerCurve*> curves;

  /// The energy of all of them; unknown_s is that of the least known one, and the whole time if there are none.
  [[nodiscard]] Energy between(std::int64_t start_ns, std::int64_t end_ns) const;
  /// The longest of them.
  [[nodiscard]] std::int64_t renewal_ns() const;
  /// The length of their shortest readable piece; 0: there is none.
  [[nodiscard]] std::int64_t shortest_piece_ns() const;
  /// Removes sources that showed no energy at all, such as a counter that never moves, if others did: they say nothing
  /// about the machine and would make all of it unknown.
  void leave_out_silent();
  /// The lowest mean power of a completely readable second; none if there was no such second.
  [[nodiscard]] std::optional<double> least_mean_watts() const;
};

/// The machine of the processes of one boot.
struct PowerMachine {
  PowerSideCurves machine;
  PowerSideCurves gpu;
  std::optional<double> idle_watts;
  std::unique_ptr<EnergySharing> scopes;
  std::unique_ptr<EnergySharing> spans;
  std::priority_queue<std::pair<std::int64_t, ConsumerId>, std::vector<std::pair<std::int64_t, ConsumerId>>,
                      std::greater<>>
      span_ends;  // ends of the open queue spans
};

/// A source that counts for its machine.
struct PowerSource {
  base::ChosenSource source;
  PowerMachine* machine = nullptr;
  std::size_t first_series = 0;  ///< those of source.metrics, then those of source.counters
  PowerCurve curve;              ///< from finish() on
};

/// Chooses each machine's sources, collects their samples and makes the curves. A machine is shared by the processes of
/// one boot, or of one host if the boot is unknown.
class PowerReadings {
 public:
  /// `wanted`: as for base::choose_power_sources().
  PowerReadings(const Declarations& declared, const std::vector<std::string>& wanted);
  // Not copied: machines and sources point to each other.
  PowerReadings(PowerReadings&&) = default;
  PowerReadings& operator=(PowerReadings&&) = default;

  /// Collects the samples of any metric in an interval, both ends included; those of no source are ignored.
  void take(const SampleRun& run, TimeRange interval = {});
  /// Makes the curves of what was taken.
  void finish();

  [[nodiscard]] PowerMachine& machine_of(ProcessId process);
  [[nodiscard]] std::deque<PowerMachine>& machines() { return machines_; }
  [[nodiscard]] const std::deque<PowerMachine>& machines() const { return machines_; }
  [[nodiscard]] const std::deque<PowerSource>& sources() const { return sources_; }
  /// Sources that do not count, with the reasons.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& left_out() const { return left_out_; }

 private:
  void find_machines(const Declarations& declared);
  void await_samples(const std::vector<MetricDeclaration>& metrics);
  [[nodiscard]] std::vector<MetricSeries> take_series(std::size_t first, std::size_t count);

  std::deque<PowerMachine> machines_;
  std::unordered_map<ProcessId, PowerMachine*> machine_of_;
  std::deque<PowerSource> sources_;  // deque: curves keep their addresses
  std::vector<MetricSeries> series_;
  std::unordered_map<MetricId, std::size_t> series_places_;
  std::vector<std::pair<std::string, std::string>> left_out_;
};

}  // namespace kymo::stats
