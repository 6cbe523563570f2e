// Finds the power sources of this machine.
#include <kymo/power.hpp>

#include "base/system/clock.hpp"
#include "sense/power/sensor_power.hpp"
#include "sense/sampler/sensors.hpp"

namespace kymo {

std::vector<std::unique_ptr<PowerSource>> find_power_sources(const SensorOptions& options) {
  return sense::make_power_sources(sense::make_sensors(options), base::monotonic_now_ns());
}

}  // namespace kymo
