// Which power sources are added up, so that nothing is counted twice.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/power_side.hpp>

namespace kymo::base {

using kymo::EnergyMethod;
using kymo::PowerSide;

/// A source of power: one device or rail, by the metrics that measure it.
struct ChosenSource {
  std::vector<MetricDeclaration> metrics;  ///< of one method; several where several processes sampled it
  std::string name;                        ///< of the metric with its labels: "cpu_energy package=0 domain=dram"
  PowerSide side = PowerSide::machine;
  EnergyMethod method = EnergyMethod::counter;
};

struct PowerChoice {
  std::vector<ChosenSource> sources;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< name and reason
};

/// Chooses among the metrics of one machine.
///
/// - A device with an energy counter (kind energy_counter, unit J) is measured by it, else by its power (unit W), the
///   present one rather than the averaged one.
/// - GPUs (gpu_energy, gpu_power, gpu_power_average, or else the hwmon channels of GPU drivers, or else rails that feed
///   a GPU but no CPU) are the GPU side, every one of them.
/// - The machine side is the first of these that is there:
///   1. RAPL: every package and its dram. A package contains its core and uncore domains and psys contains all, so
///      those are left out; without packages psys alone, without that all domains.
///   2. Rails: those marked as a total alone, else all of them.
///   3. hwmon channels: those marked as a total alone, else all of them, but of a chip with energy counters only
///      these, and of one that counts sockets and cores only the sockets.
///   4. Whatever else is in watts or joules, such as a metric that the program records itself.
///
/// `names`: the user's choice instead; each is a metric's name, a label's value or a source's full name, and picks
/// every source it fits.
[[nodiscard]] PowerChoice choose_power_sources(const std::vector<MetricDeclaration>& metrics,
                                               const std::vector<std::string>& names = {});

/// "name key=value key=value".
[[nodiscard]] std::string full_name(const MetricDeclaration& metric);

}  // namespace kymo::base
