// /sys/class/thermal: the zones that the kernel monitors. The zone of a powered-down part answers EAGAIN.
#include <map>

#include "sense/common/channel_sensor.hpp"
#include "sense/common/device_files.hpp"

namespace kymo::sense {

namespace {

constexpr std::string_view zone_folder = "/sys/class/thermal/";

class ThermalSensor final : public ChannelSensor {
 public:
  explicit ThermalSensor(const SensorContext& context) : ChannelSensor("thermal", Tier::slow, context) {}

 protected:
  std::string signature() override {
    std::string text;
    for (const std::string& name : list_directory(context().at(zone_folder))) {
      text += name + '=' + read_trimmed(context().at(zone_folder) + name + "/type") + '\n';
    }
    return text;
  }

  std::vector<Channel> find_channels() override {
    std::vector<Channel> channels;
    std::map<std::string, unsigned> by_type;
    for (const std::string& name : list_directory(context().at(zone_folder))) {
      const std::string zone = std::string(zone_folder) + name;
      std::string type = read_trimmed(context().at(zone) + "/type");
      if (!number_between(name, "thermal_zone", "") || type.empty()) {
        continue;
      }
      const unsigned before = by_type[type]++;
      if (before > 0) {
        type += '#' + std::to_string(before + 1);
      }
      channels.push_back({.declaration = describe("temperature", "C", zone + "/temp", MetricKind::gauge, 1e-3,
                                                  {{"zone", std::move(type)}}),
                          .path = context().at(zone) + "/temp",
                          .per_unit = 1e3});
    }
    return channels;
  }

  [[nodiscard]] std::string absence() const override { return "no thermal zones under " + std::string(zone_folder); }
};

}  // namespace

void make_thermal_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<ThermalSensor>(context));
}

}  // namespace kymo::sense
