// What power sources feed, and how their energy is computed.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo {

/// How a source's energy is computed.
enum class EnergyMethod : std::uint8_t {
  counter = 0,    ///< differences of an energy counter
  trapezoid = 1,  ///< power, integrated by trapezoids
};

/// What a power source feeds.
enum class PowerSide : std::uint8_t {
  machine = 0,  ///< scopes, frames and phases
  gpu = 1,      ///< GPU spans, frames and phases
};

/// Name for tables: "counter", "trapezoid".
[[nodiscard]] constexpr std::string_view name_of(EnergyMethod method) noexcept {
  return method == EnergyMethod::counter ? "counter" : "trapezoid";
}

/// Name for tables: "machine", "gpu".
[[nodiscard]] constexpr std::string_view name_of(PowerSide side) noexcept {
  return side == PowerSide::machine ? "machine" : "gpu";
}

}  // namespace kymo
