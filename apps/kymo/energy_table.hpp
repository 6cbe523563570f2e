// kymo stats --energy: joules as tables and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <kymo/timeline.hpp>

#include "stats/energy.hpp"

namespace kymo::command {

/// Whether any source feeds a side.
[[nodiscard]] bool has_source(const stats::EnergyStatistics& statistics, stats::PowerSide side);
/// "4.56 J"; "-" where none of it could be read.
[[nodiscard]] std::string format_energy(const stats::Energy& energy);
/// How far off it may be.
[[nodiscard]] std::string format_bound(const stats::Energy& energy);
/// Joules of one of so many; "unresolved" where these were too short to tell.
[[nodiscard]] std::string per_one(const stats::Energy& energy, std::uint64_t count, bool is_resolved);
/// For how long the power could not be read; empty where it always could.
[[nodiscard]] std::string format_unknown(double seconds);
/// What it all adds up to, and what to make of it, in sentences.
[[nodiscard]] std::vector<std::string> describe_energy(const stats::EnergyStatistics& statistics);

struct EnergyTableOptions {
  bool by_process = false;
  std::size_t top = 0;  ///< rows of sites; 0: all
};

/// Prints what was measured how, and the joules of sites, GPU spans, frames and phases.
void print_energy(const Timeline& timeline, const stats::EnergyStatistics& statistics,
                  const EnergyTableOptions& options);

/// The same, joules and seconds.
[[nodiscard]] nlohmann::ordered_json energy_to_json(const Timeline& timeline, const stats::EnergyStatistics& statistics,
                                                    const EnergyTableOptions& options);

}  // namespace kymo::command
