// Power sources based on sensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <kymo/power.hpp>

#include "base/power/power_choice.hpp"
#include "sense/common/sensor.hpp"

namespace kymo::sense {

/// A sensor that several power sources share. It is read once for each time. Thread-safe.
class SharedSensor {
 public:
  explicit SharedSensor(std::unique_ptr<Sensor> sensor) : sensor_(std::move(sensor)) {}

  /// The values of two metrics; NaN for one that has none, or does not exist.
  PowerReading read(std::int64_t now_ns, std::size_t watts, std::size_t joules) {
    const std::lock_guard lock(mutex_);
    if (!was_read_ || now_ns > read_ns_) {
      sensor_->read(now_ns);
      read_ns_ = now_ns;
      was_read_ = true;
    }
    const auto value_of = [&readings = sensor_->readings()](std::size_t metric) {
      return metric < readings.size() && readings[metric].has_value ? readings[metric].value : missing;
    };
    return {value_of(watts), value_of(joules)};
  }
  /// Only where no other thread reads it.
  [[nodiscard]] const Sensor& sensor() const { return *sensor_; }

 private:
  std::mutex mutex_;  // protects all below
  std::unique_ptr<Sensor> sensor_;
  std::int64_t read_ns_ = 0;
  bool was_read_ = false;
};

/// The sum over devices measured by sensors. Watts and joules cover all devices or are unknown. Joules need an energy
/// counter for every device.
class SensorPowerSource final : public PowerSource {
 public:
  /// A device: indices of its metrics in a sensor; `none` for a missing metric.
  struct Device {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::string name;
    std::shared_ptr<SharedSensor> sensor;
    std::size_t watts = none;
    std::size_t joules = none;
  };

  explicit SensorPowerSource(std::vector<Device> devices) : devices_(std::move(devices)) {}

  [[nodiscard]] std::string name() const override;
  PowerReading read(std::int64_t now_ns) override;

 private:
  std::vector<Device> devices_;
};

/// Power sources based on sensors: the machine's supply as one, then each GPU, chosen by base::choose_power_sources().
/// Reads every sensor once because some find their devices only then.
[[nodiscard]] std::vector<std::unique_ptr<PowerSource>> make_power_sources(SensorList sensors, std::int64_t now_ns);

}  // namespace kymo::sense
