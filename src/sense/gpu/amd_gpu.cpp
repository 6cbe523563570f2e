// AMD GPUs by the sysfs files of the amdgpu driver: load at the fast tier, the rest at the medium tier.
#include <array>

#include "sense/gpu/gpu_channel.hpp"

namespace kymo::sense {

namespace {

struct Source {
  Tier tier;
  bool is_hwmon;  // below the device's hwmon directory, else below the device
  std::string_view file;
  std::string_view metric;
  std::string_view unit;
  double per_unit;
  Channel::Pace pace;
};

// If a card has several sources of one metric, the first one is used. power1_average and power1_input belong to
// different drivers: the first is an average by the firmware, the second its newest value.
constexpr std::array sources = {
    Source{Tier::fast, false, "gpu_busy_percent", "gpu_util", "%", 1, Channel::Pace::own},
    Source{Tier::medium, false, "mem_info_vram_used", "gpu_mem", "B", 1, Channel::Pace::every_read},
    Source{Tier::medium, false, "mem_info_vram_total", "gpu_mem_total", "B", 1, Channel::Pace::every_read},
    Source{Tier::medium, true, "power1_average", "gpu_power", "W", 1e6, Channel::Pace::own},
    Source{Tier::medium, true, "power1_input", "gpu_power", "W", 1e6, Channel::Pace::own},
    Source{Tier::medium, true, "temp1_input", "gpu_temp", "C", 1e3, Channel::Pace::every_read},
    Source{Tier::medium, true, "freq1_input", "gpu_clock", "MHz", 1e6, Channel::Pace::every_read},
};

class AmdGpuSensor final : public GpuSensor {
 public:
  AmdGpuSensor(const SensorContext& context, Tier tier) : GpuSensor("amdgpu", tier, context, "amd", "0x1002") {}

 protected:
  std::vector<Channel> find_channels() override {
    std::vector<Channel> channels;
    const std::vector<GpuCard> found = cards();
    if (tier() == Tier::medium) {
      tell_facts_of(found);
    }
    for (const GpuCard& card : found) {
      const std::vector<std::string> hwmon = hwmon_directories(card);
      std::string_view last_metric;
      for (const Source& source : sources) {
        if (source.tier != tier() || source.metric == last_metric || (source.is_hwmon && hwmon.empty())) {
          continue;
        }
        const std::string path = (source.is_hwmon ? hwmon.front() : card.device) + "/" + std::string(source.file);
        if (!is_there(path)) {
          continue;
        }
        last_metric = source.metric;
        channels.push_back(gpu_channel(card, path, source.metric, source.unit, source.per_unit));
        channels.back().pace = source.pace;
      }
    }
    return channels;
  }
};

}  // namespace

void make_amd_gpu_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<AmdGpuSensor>(context, Tier::fast));
  list.push_back(std::make_unique<AmdGpuSensor>(context, Tier::medium));
}

}  // namespace kymo::sense
