// Finds the power sources of this machine, and the reasons of those that are missing.
#include <kymo/power.hpp>

#include "base/system/clock.hpp"
#include "sense/power/sensor_power.hpp"
#include "sense/sampler/sensors.hpp"

namespace kymo {

std::vector<std::unique_ptr<PowerSource>> find_power_sources(const SensorOptions& options) {
  return sense::make_power_sources(sense::make_sensors(options), base::monotonic_now_ns());
}

std::string explain_missing_power(const SensorOptions& options) {
  std::string reasons;
  for (const std::unique_ptr<sense::Sensor>& sensor : sense::make_sensors(options)) {
    if (!sense::is_of_power(sensor->name())) {
      continue;
    }
    sensor->read(base::monotonic_now_ns());
    const std::string reason =
        sensor->name() + ": " + sensor->trouble() + (sensor->advice().empty() ? "" : " (" + sensor->advice() + ")");
    // Some sensors have a part for each tier, all of which say the same.
    if (!sensor->trouble().empty() && reasons.find(reason) == std::string::npos) {
      reasons += (reasons.empty() ? "" : "; ") + reason;
    }
  }
  return reasons;
}

}  // namespace kymo
