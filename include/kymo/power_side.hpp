// What power sources feed, and how their energy comes about.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo {

/// How the energy of a source comes about.
enum class EnergyMethod : std::uint8_t {
  counter = 0,    ///< differences of an energy counter
  trapezoid = 1,  ///< power, integrated by trapezoids
};

/// What a power source feeds.
enum class PowerSide : std::uint8_t {
  machine = 0,  ///< scopes, frames and phases
  gpu = 1,      ///< GPU spans, frames and phases
};

/// How tables call it: "counter", "trapezoid".
[[nodiscard]] constexpr std::string_view name_of(EnergyMethod method) noexcept {
  return method == EnergyMethod::counter ? "counter" : "trapezoid";
}

/// How tables call it: "machine", "gpu".
[[nodiscard]] constexpr std::string_view name_of(PowerSide side) noexcept {
  return side == PowerSide::machine ? "machine" : "gpu";
}

}  // namespace kymo
