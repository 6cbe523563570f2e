// kymo stats --energy: joules as tables and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include <kymo/timeline.hpp>

#include "stats/energy.hpp"

namespace kymo::command {

/// "850 uJ", "12.3 mJ", "4.56 J", "7.89 kJ": three significant digits.
[[nodiscard]] std::string format_joules(double joules);

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
