// The power sources of this machine.
#include <chrono>

#include <kymo/power.hpp>

#include "sense/sensor_list.hpp"
#include "sense/sensor_power.hpp"

namespace kymo {

std::vector<std::unique_ptr<PowerSource>> find_power_sources(const SensorOptions& options) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return sense::make_power_sources(sense::make_sensors(options),
                                   std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace kymo
