#include "apps/kymo/record/energy_report.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "apps/kymo/shared/command.hpp"
#include "apps/kymo/shared/ranges.hpp"
#include "apps/kymo/shared/units.hpp"
#include "apps/kymo/stats/energy_table.hpp"
#include "stats/common/value_text.hpp"

namespace kymo::command {

namespace {

constexpr double joules_per_kwh = 3.6e6;

/// Splits "0.30EUR/kWh" into the number and its unit; nothing if it is not of that form.
std::optional<EnergyFactor> parse_factor(const std::string& text) {
  constexpr std::string_view end = "/kWh";
  if (text.size() <= end.size() || text.compare(text.size() - end.size(), end.size(), end) != 0) {
    return std::nullopt;
  }
  const std::string amount = text.substr(0, text.size() - end.size());
  const std::size_t digits = std::min(amount.find_first_not_of("0123456789."), amount.size());
  const auto number = parse_number<double>(std::string_view(amount).substr(0, digits));
  EnergyFactor factor{number.value_or(-1), amount.substr(digits), text};
  constexpr std::size_t most_unit = 8;
  const bool is_unit_sound = factor.unit.size() <= most_unit && printable(factor.unit) == factor.unit &&
                             factor.unit.find(' ') == std::string::npos;
  return number && std::isfinite(*number) && *number >= 0 && is_unit_sound ? std::optional(factor) : std::nullopt;
}

/// Of so many joules: "0.103 EUR at 0.30EUR/kWh".
std::string consequence(double joules, const EnergyFactor& factor, const std::string& of_what) {
  return fmt::format("; {}{} at {}",
                     stats::value_text(joules / joules_per_kwh * factor.per_kwh, factor.unit, {3, false}), of_what,
                     factor.text);
}

}  // namespace

EnergyFactor parse_price(const std::string& text) {
  const auto factor = parse_factor(text);
  if (!factor) {
    throw Failure(fmt::format("--price {}: a price for a kilowatt hour is expected, such as 0.30/kWh or 0.30EUR/kWh",
                              printable(text)));
  }
  return *factor;
}

EnergyFactor parse_co2(const std::string& text) {
  auto factor = parse_factor(text);
  if (!factor || (factor->unit != "g" && factor->unit != "kg")) {
    throw Failure(fmt::format("--co2 {}: grams for a kilowatt hour are expected, such as 350g/kWh", printable(text)));
  }
  factor->per_kwh *= factor->unit == "kg" ? 1000 : 1;
  factor->unit = "g";
  return *factor;
}

std::string describe_run_energy(const stats::EnergyStatistics& energy, TimeRange run, const EnergyFactors& factors) {
  stats::Energy total;
  double watts = 0;
  bool is_known = false;
  bool is_estimated = false;
  std::string unread;
  for (const stats::SourceEnergy& source : energy.sources) {
    if (source.known_s <= 0) {
      unread += (unread.empty() ? "" : ", ") + printable(source.name, 48);
      continue;
    }
    is_known = true;
    total += source.energy;
    watts += source.energy.joules / source.known_s;
    is_estimated = is_estimated || source.is_estimated;
  }
  if (energy.sources.empty()) {
    return "energy: not known, since no source of power was read; `kymo doctor` says which there are, and why not";
  }
  if (!is_known) {
    return fmt::format("energy: not known, since no source of power gave two values: {}", unread);
  }
  const double run_s = stats::seconds_between(run.start_ns, run.end_ns);
  const double unknown_s = std::max(energy.machine.unknown_s, energy.gpu.unknown_s);
  std::string line = fmt::format("energy: this machine used {} {}{} in {}: {} on average", format_joules(total.joules),
                                 format_bound(total), is_estimated ? ", estimated," : "", format_duration(run_s * 1e9),
                                 stats::value_text(watts, "W"));
  if (has_source(energy, PowerSide::gpu) && has_source(energy, PowerSide::machine)) {
    line += fmt::format(", GPU {}", format_energy(energy.gpu));
  }
  if (factors.price) {
    line += consequence(total.joules, *factors.price, "");
  }
  if (factors.co2) {
    line += consequence(total.joules, *factors.co2, " of CO2");
  }
  // Sampling begins after the command and ends with it, so a little is always missing.
  if (unknown_s > run_s / 100) {
    line += fmt::format("; not known for {} of it", format_duration(unknown_s * 1e9));
  }
  return line + (unread.empty() ? "" : "; never readable: " + unread);
}

}  // namespace kymo::command
