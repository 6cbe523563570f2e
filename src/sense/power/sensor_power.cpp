#include "sense/power/sensor_power.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/system/clock.hpp"
#include "sense/sampler/sensors.hpp"

namespace kymo::sense {

namespace {

using Device = SensorPowerSource::Device;

/// The power metric for an energy counter of the same device: "cpu_power" for "cpu_energy".
std::size_t find_power(const Sensor& sensor, const MetricDeclaration& counter) {
  constexpr std::string_view energy = "energy";
  std::string name = counter.name;
  const std::size_t place = name.rfind(energy);
  if (place != std::string::npos) {
    name.replace(place, energy.size(), "power");
  }
  for (std::size_t i = 0; i < sensor.metrics().size(); ++i) {
    const MetricDeclaration& metric = sensor.metrics()[i];
    if (metric.unit == "W" && metric.name == name && metric.labels == counter.labels) {
      return i;
    }
  }
  return Device::none;
}

}  // namespace

std::string SensorPowerSource::name() const {
  std::string name;
  for (const Device& device : devices_) {
    name += (name.empty() ? "" : " + ") + device.name;
  }
  return name;
}

PowerReading SensorPowerSource::read(std::int64_t now_ns) {
  PowerReading sum{0, 0};
  for (const Device& device : devices_) {
    const auto [watts, joules] = device.sensor->read(now_ns, device.watts, device.joules);
    sum.watts += watts;
    sum.joules += joules;
  }
  return sum;
}

std::vector<std::unique_ptr<PowerSource>> make_power_sources(SensorList sensors, std::int64_t now_ns) {
  struct Place {
    std::shared_ptr<SharedSensor> sensor;
    std::size_t metric = 0;
  };
  std::vector<Place> places;  // by metric id in this list, minus one
  std::vector<MetricDeclaration> metrics;
  for (std::unique_ptr<Sensor>& each : sensors) {
    const auto shared = std::make_shared<SharedSensor>(std::move(each));
    shared->read(now_ns, Device::none, Device::none);
    const auto& own = shared->sensor().metrics();
    for (std::size_t i = 0; i < own.size(); ++i) {
      places.push_back({shared, i});
      metrics.push_back(own[i]);
      metrics.back().id = MetricId{static_cast<std::uint32_t>(places.size())};
    }
  }
  std::vector<Device> machine;
  std::vector<std::unique_ptr<PowerSource>> sources;
  std::vector<std::unique_ptr<PowerSource>> gpus;
  for (const base::ChosenSource& chosen : base::choose_power_sources(metrics).sources) {
    const MetricDeclaration& metric = chosen.metrics.front();
    const Place& place = places[metric.id.index()];
    Device device{chosen.name, place.sensor};
    if (chosen.method == base::EnergyMethod::counter) {
      device.joules = place.metric;
      device.watts = find_power(place.sensor->sensor(), metric);
    } else {
      device.watts = place.metric;
    }
    if (chosen.side == base::PowerSide::machine) {
      machine.push_back(std::move(device));
    } else {
      gpus.push_back(std::make_unique<SensorPowerSource>(std::vector<Device>{std::move(device)}));
    }
  }
  if (!machine.empty()) {
    sources.push_back(std::make_unique<SensorPowerSource>(std::move(machine)));
  }
  std::move(gpus.begin(), gpus.end(), std::back_inserter(sources));
  return sources;
}

}  // namespace kymo::sense

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
