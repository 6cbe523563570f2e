#include "sense/sensor_kinds.hpp"

namespace kymo::sense {

std::span<const SensorKind> sensor_kinds() noexcept {
  return {};
}

}  // namespace kymo::sense
