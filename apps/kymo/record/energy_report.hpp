// What `kymo record --report-energy` says at the end: joules, watts, cost and CO2 of the run.
#pragma once

#include <optional>
#include <string>

#include "stats/energy/energy.hpp"

namespace kymo::command {

/// What a kilowatt hour costs or emits, as the user gives it.
struct EnergyFactor {
  double per_kwh = 0;
  std::string unit;  ///< "EUR"; may be empty
  std::string text;  ///< as given
};

struct EnergyFactors {
  std::optional<EnergyFactor> price;
  std::optional<EnergyFactor> co2;  ///< in grams
};

/// Parses "0.30/kWh" or "0.30EUR/kWh", and "350g/kWh" or "0.35kg/kWh". Throws Failure with the expected form.
[[nodiscard]] EnergyFactor parse_price(const std::string& text);
[[nodiscard]] EnergyFactor parse_co2(const std::string& text);

/// One line. Energy that no source told is not known, which the line says; it is never zero.
[[nodiscard]] std::string describe_run_energy(const stats::EnergyStatistics& energy, TimeRange run,
                                              const EnergyFactors& factors);

}  // namespace kymo::command
