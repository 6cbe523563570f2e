// Jetson boards made of files, as JetPack 6 shows them. Numbers that kernels give as they please (hwmon, thermal zones)
// are shuffled by a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "machine_tree.hpp"

namespace kymo::test {

/// One channel of a power monitor.
struct JetsonChannel {
  unsigned chip = 0x40;  ///< I2C address
  unsigned number = 1;
  std::string label;
  unsigned millivolts = 0;
  unsigned milliamperes = 0;
  std::string voltage_path = {};  ///< below the root; set by JetsonTree
  std::string current_path = {};
};

struct JetsonModel {
  std::string compatible;  ///< its strings, each ended by NUL
  std::vector<JetsonChannel> channels;
  std::vector<std::string> zones;
};

[[nodiscard]] inline std::string compatible_of(const std::vector<std::string>& strings) {
  std::string all;
  for (const std::string& text : strings) {
    all += text + '\0';
  }
  return all;
}

/// AGX Orin; its second chip has a labelled channel more than the devkit's.
[[nodiscard]] inline JetsonModel agx_orin_model() {
  return {compatible_of({"nvidia,p3737-0000+p3701-0000", "nvidia,p3701-0000", "nvidia,tegra234"}),
          {{0x40, 1, "VDD_GPU_SOC", 19000, 512},
           {0x40, 2, "VDD_CPU_CV", 19008, 128},
           {0x40, 3, "VIN_SYS_5V0", 4992, 800},
           {0x41, 1, "NC", 0, 0},
           {0x41, 2, "VDDQ_VDD2_1V8AO", 4968, 80},
           {0x41, 3, "EXTRA_SENSOR_RAIL", 12000, 250}},
          {"cpu-thermal", "gpu-thermal", "cv0-thermal", "cv1-thermal", "cv2-thermal", "soc0-thermal", "soc1-thermal",
           "soc2-thermal", "tj-thermal", "tboard-thermal", "tdiode-thermal"}};
}

[[nodiscard]] inline JetsonModel orin_nx_model() {
  return {compatible_of({"nvidia,p3768-0000+p3767-0000", "nvidia,p3767-0000", "nvidia,tegra234"}),
          {{0x40, 1, "VDD_IN", 5000, 1200},
           {0x40, 2, "VDD_CPU_GPU_CV", 4992, 400},
           {0x40, 3, "VDD_SOC", 4984, 300},
           {0x41, 2, "CARRIER_3V3", 3304, 100}},
          {"cpu-thermal", "gpu-thermal", "cv0-thermal", "cv1-thermal", "cv2-thermal", "soc0-thermal", "soc1-thermal",
           "soc2-thermal", "tj-thermal", "tboard-thermal"}};
}

[[nodiscard]] inline JetsonModel orin_nano_model(std::string_view part = "p3767-0005") {
  JetsonModel model = orin_nx_model();
  model.compatible =
      compatible_of({"nvidia,p3768-0000+" + std::string(part), "nvidia," + std::string(part), "nvidia,tegra234"});
  return model;
}

class JetsonTree : public MachineTree {
 public:
  explicit JetsonTree(JetsonModel model, unsigned seed = 1) : model_(std::move(model)), random_(seed) {
    write("/proc/device-tree/compatible", model_.compatible);
    set_gpu_load("0\n");
    set_emc(0, 2'133'000'000, 50'000);
    write("/sys/class/devfreq/17000000.gpu/cur_freq", "306000000\n");
    write("/var/lib/nvpmodel/status", "pmode:0002 fmode:quiet\n");
    write("/etc/nvpmodel.conf",
          "# power modes\n< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n< POWER_MODEL ID=2 NAME=15W >\n");
    numbers_.resize(40);
    for (unsigned i = 0; i < numbers_.size(); ++i) {
      numbers_[i] = i;
    }
    std::shuffle(numbers_.begin(), numbers_.end(), random_);
    write_rails();
    write_zones();
    const std::string fan = hwmon();
    write(fan + "/name", "pwmfan\n");
    write(fan + "/pwm1", "51\n");
    const std::string tach = hwmon();
    write(tach + "/name", "pwm_tach\n");
    write(tach + "/rpm", "1490\n");
  }

  void set_gpu_load(std::string_view text) { write("/sys/devices/platform/bus@0/17000000.gpu/load", text); }
  void set_emc(std::uint64_t busy_cycles, std::uint64_t clock, std::uint64_t period_us) {
    write("/sys/kernel/debug/cactmon/mc_all", std::to_string(busy_cycles) + "\n");
    write("/sys/kernel/debug/cactmon/sample_period_usec", std::to_string(period_us) + "\n");
    write("/sys/kernel/debug/clk/emc/clk_rate", std::to_string(clock) + "\n");
  }
  /// Channels with their paths, those that nothing is wired to too.
  [[nodiscard]] const std::vector<JetsonChannel>& channels() const { return model_.channels; }
  [[nodiscard]] const JetsonChannel& channel(std::string_view label) const {
    return *std::find_if(model_.channels.begin(), model_.channels.end(),
                         [&](const JetsonChannel& channel) { return channel.label == label; });
  }
  /// The directory of a zone, below the root.
  [[nodiscard]] std::string zone(std::string_view name) const {
    const auto found = std::find(model_.zones.begin(), model_.zones.end(), name);
    return zone_paths_[static_cast<std::size_t>(found - model_.zones.begin())];
  }

 private:
  unsigned take_number() {
    const unsigned number = numbers_.back();
    numbers_.pop_back();
    return number;
  }
  std::string hwmon() { return "/sys/class/hwmon/hwmon" + std::to_string(take_number()); }

  void write_rails() {
    std::vector<std::pair<unsigned, std::string>> chips;
    for (JetsonChannel& channel : model_.channels) {
      auto found =
          std::find_if(chips.begin(), chips.end(), [&](const auto& chip) { return chip.first == channel.chip; });
      if (found == chips.end()) {
        const std::string name = channel.chip == 0x40 ? "1-0040" : "1-0041";
        const std::string directory =
            "/sys/bus/i2c/drivers/ina3221/" + name + "/hwmon/hwmon" + std::to_string(take_number());
        write(directory + "/name", "ina3221\n");
        // What the chip has besides channels: sums, and shunt voltages.
        write(directory + "/in7_label", "sum of shunt voltages\n");
        write(directory + "/in7_input", "12\n");
        found = chips.insert(chips.end(), {channel.chip, directory});
      }
      const std::string number = std::to_string(channel.number);
      channel.voltage_path = found->second + "/in" + number + "_input";
      channel.current_path = found->second + "/curr" + number + "_input";
      // Kernels label the voltage or the current.
      const bool labels_voltage = channel.label != "VDD_SOC";
      write(found->second + (labels_voltage ? "/in" : "/curr") + number + "_label", channel.label + "\n");
      write(channel.voltage_path, std::to_string(channel.millivolts) + "\n");
      write(channel.current_path, std::to_string(channel.milliamperes) + "\n");
    }
    write("/sys/bus/i2c/drivers/ina3221/bind", "");
  }

  void write_zones() {
    std::vector<unsigned> order(model_.zones.size());
    for (unsigned i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), random_);
    zone_paths_.resize(model_.zones.size());
    for (unsigned i = 0; i < order.size(); ++i) {
      zone_paths_[i] = "/sys/class/thermal/thermal_zone" + std::to_string(order[i]);
      write(zone_paths_[i] + "/type", model_.zones[i] + "\n");
      write(zone_paths_[i] + "/temp", std::to_string(40'000 + 500 * i) + "\n");
    }
  }

  JetsonModel model_;
  std::mt19937 random_;
  std::vector<unsigned> numbers_;  // not yet given to a hwmon directory
  std::vector<std::string> zone_paths_;
};

}  // namespace kymo::test
