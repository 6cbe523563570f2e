// Power sources made of sensors.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <kymo/power.hpp>

#include "base/power_choice.hpp"
#include "sense/sensor.hpp"

namespace kymo::sense {

/// A sensor that several power sources read: once for each time.
class SharedSensor {
 public:
  explicit SharedSensor(std::unique_ptr<Sensor> sensor) : sensor_(std::move(sensor)) {}

  void read(std::int64_t now_ns) {
    if (!was_read_ || now_ns > read_ns_) {
      sensor_->read(now_ns);
      read_ns_ = now_ns;
      was_read_ = true;
    }
  }
  [[nodiscard]] const Sensor& sensor() const { return *sensor_; }

 private:
  std::unique_ptr<Sensor> sensor_;
  std::int64_t read_ns_ = 0;
  bool was_read_ = false;
};

/// The sum of devices that sensors measure. Watts and joules are those of all devices, or are not known: joules where
/// every device has an energy counter.
class SensorPowerSource final : public PowerSource {
 public:
  /// A device: its metrics by index into a sensor's; a metric that it lacks is `none`.
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

/// The power sources that sensors make: what feeds the machine as one, then each GPU, chosen by
/// base::choose_power_sources(). Reads every sensor once, since some find their devices only then.
[[nodiscard]] std::vector<std::unique_ptr<PowerSource>> make_power_sources(SensorList sensors, std::int64_t now_ns);

}  // namespace kymo::sense
