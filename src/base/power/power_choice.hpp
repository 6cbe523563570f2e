// Selects the power sources to add up, so that nothing counts twice.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/power_side.hpp>

namespace kymo::base {

using kymo::EnergyMethod;
using kymo::PowerSide;

/// A power source: one device or rail, with the metrics that measure it.
struct ChosenSource {
  std::vector<MetricDeclaration> metrics;  ///< of one method; several if several processes sampled it
  /// Of a device measured by its power: its energy counter, if it has one. It renews more rarely, and is true over
  /// longer times.
  std::vector<MetricDeclaration> counters;
  std::string name;  ///< name of the metric with its labels: "cpu_energy package=0 domain=dram"
  PowerSide side = PowerSide::machine;
  EnergyMethod method = EnergyMethod::counter;
};

struct PowerChoice {
  std::vector<ChosenSource> sources;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< name and reason
};

/// Chooses among the metrics of one machine.
///
/// - A device with an energy counter (kind energy_counter, unit J) is measured by it. Otherwise by its power (unit W),
///   preferably the instantaneous one over the averaged one. Where the counter renews three times more rarely than the
///   instantaneous power, it would resolve less: the power measures, and the counter comes along in `counters`.
/// - The GPU side consists of all GPUs: gpu_energy, gpu_power, gpu_power_average; otherwise the hwmon channels of GPU
///   drivers; otherwise rails that feed a GPU but no CPU.
/// - The machine side is the first of these that exists:
///   1. RAPL: every package and its dram. A package contains its core and uncore domains, and psys contains everything:
///      these are left out. Without packages: psys alone. Without psys: all domains.
///   2. Rails: those marked as a total, otherwise all.
///   3. hwmon channels: those marked as a total, otherwise all. Exceptions: a chip with energy counters counts only by
///      these, and one that counts sockets and cores only by the sockets.
///   4. Any other metric in watts or joules, such as one that the program records itself.
///
/// `names` replaces this choice by the user's. Each is a metric's name, a label's value or a source's full name, and
/// selects every source that it matches.
[[nodiscard]] PowerChoice choose_power_sources(const std::vector<MetricDeclaration>& metrics,
                                               const std::vector<std::string>& names = {});

}  // namespace kymo::base
