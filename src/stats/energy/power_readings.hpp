// The power of a timeline's machines, from its samples.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

#include "base/power/power_choice.hpp"
#include "stats/energy/power_machine.hpp"

namespace kymo::stats {

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
  PowerReadings(const Timeline& timeline, const std::vector<std::string>& wanted);
  PowerReadings(const PowerReadings&) = delete;
  PowerReadings& operator=(const PowerReadings&) = delete;

  /// Collects samples of any metric; those of no source are ignored.
  void take(const SampleRun& run);
  /// Makes the curves of what was taken.
  void finish();

  [[nodiscard]] PowerMachine& machine_of(ProcessId process);
  [[nodiscard]] std::deque<PowerMachine>& machines() { return machines_; }
  [[nodiscard]] const std::deque<PowerMachine>& machines() const { return machines_; }
  [[nodiscard]] const std::deque<PowerSource>& sources() const { return sources_; }
  /// Sources that do not count, with the reasons.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& left_out() const { return left_out_; }

 private:
  void find_machines(const Timeline& timeline);
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
