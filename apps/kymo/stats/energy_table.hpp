// kymo stats --energy: energy as tables and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <kymo/timeline.hpp>

#include "stats/energy/energy.hpp"

namespace kymo::command {

/// Whether a side has any source.
[[nodiscard]] bool has_source(const stats::EnergyStatistics& statistics, stats::PowerSide side);
/// "4.56 J"; "-" if nothing could be read.
[[nodiscard]] std::string format_energy(const stats::Energy& energy);
/// The error bound.
[[nodiscard]] std::string format_bound(const stats::Energy& energy);
/// Joules of one item out of `count`; "unresolved" if the items were too short.
[[nodiscard]] std::string per_one(const stats::Energy& energy, std::uint64_t count, bool is_resolved);
/// How long the power could not be read; empty if it always could.
[[nodiscard]] std::string format_unknown(double seconds);
/// Totals and their interpretation, in sentences.
[[nodiscard]] std::vector<std::string> describe_energy(const stats::EnergyStatistics& statistics);

struct EnergyTableOptions {
  bool by_process = false;
  std::size_t top = 0;  ///< rows of sites; 0: all
};

/// Prints how the energy was measured, and the joules of sites, GPU spans, frames and phases.
void print_energy(const Timeline& timeline, const stats::EnergyStatistics& statistics,
                  const EnergyTableOptions& options);

/// The same as JSON, in joules and seconds.
[[nodiscard]] nlohmann::ordered_json energy_to_json(const Timeline& timeline, const stats::EnergyStatistics& statistics,
                                                    const EnergyTableOptions& options);

}  // namespace kymo::command
