// Intel GPUs by the sysfs files of the drivers i915 and xe: an energy counter and the actual clock. Neither driver
// reports load without privileges.
#include "sense/gpu/gpu_channel.hpp"

namespace kymo::sense {

namespace {

class IntelGpuSensor final : public GpuSensor {
 public:
  explicit IntelGpuSensor(const SensorContext& context)
      : GpuSensor("intel_gpu", Tier::medium, context, "intel", "0x8086") {}

 protected:
  std::vector<Channel> find_channels() override {
    std::vector<Channel> channels;
    const std::vector<GpuCard> found = cards();
    tell_facts_of(found);
    for (const GpuCard& card : found) {
      for (const std::string& directory : hwmon_directories(card)) {
        if (is_there(directory + "/energy1_input")) {
          channels.push_back(energy_channel(card, directory + "/energy1_input"));
          break;
        }
      }
      // xe; i915 with several tiles; older i915.
      for (const std::string& path :
           {card.device + "/tile0/gt0/freq0/act_freq", resolve_path(card.card) + "/gt/gt0/rps_act_freq_mhz",
            resolve_path(card.card) + "/gt_act_freq_mhz"}) {
        if (is_there(path)) {
          channels.push_back(gpu_channel(card, path, "gpu_clock", "MHz", 1));
          break;
        }
      }
    }
    return channels;
  }

 private:
  [[nodiscard]] Channel energy_channel(const GpuCard& card, const std::string& path) const {
    Channel channel = gpu_channel(card, path, "gpu_energy", "J", 1e6);
    channel.declaration.kind = MetricKind::energy_counter;
    channel.power = describe_power(channel.declaration, "gpu_power", power_window_ns);
    return channel;
  }
};

}  // namespace

void make_intel_gpu_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<IntelGpuSensor>(context));
}

}  // namespace kymo::sense
