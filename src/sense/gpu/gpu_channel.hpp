// The common part of AMD's and Intel's GPUs in sysfs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sense/common/channel_sensor.hpp"
#include "sense/common/device_files.hpp"

namespace kymo::sense {

/// A GPU with a kernel driver.
struct GpuCard {
  std::size_t index = 0;  ///< index among its vendor's cards
  std::string card;       ///< "/sys/class/drm/card0", including the root
  std::string device;     ///< its PCI device, resolved
  std::string address;    ///< "0000:03:00.0"
};

/// What a capture says of a card: keys and values, as ("name", "Navi 31 [Radeon RX 7900 XTX]"). A value that is not
/// known is empty. Reads the list of PCI devices: milliseconds.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of_gpu(const GpuCard& card,
                                                                            const std::string& root);

/// Channels of a GPU that are read from files.
class GpuSensor : public ChannelSensor {
 public:
  GpuSensor(std::string name, Tier tier, const SensorContext& context, std::string_view vendor_name,
            std::string_view vendor_id)
      : ChannelSensor(std::move(name), tier, context), vendor_name_(vendor_name), vendor_id_(vendor_id) {}

 protected:
  std::string signature() override {
    std::string text;
    const std::string folder = context().at("/sys/class/drm/");
    for (const std::string& name : list_directory(folder)) {
      if (number_between(name, "card", "")) {
        text += resolve_path(folder + name) + '\n';
        // Drivers add their hwmon device some time after the card.
        for (const std::string& hwmon : list_directory(folder + name + "/device/hwmon")) {
          text += hwmon + '\n';
        }
      }
    }
    return text;
  }
  /// The vendor's cards.
  [[nodiscard]] std::vector<GpuCard> cards() const;
  /// Tells the facts of the cards that appeared since.
  void tell_facts_of(const std::vector<GpuCard>& cards) {
    for (; told_cards_ < cards.size(); ++told_cards_) {
      const std::string prefix = "gpu." + std::string(vendor_name_) + "." + std::to_string(told_cards_) + ".";
      for (auto& [key, value] : facts_of_gpu(cards[told_cards_], context().root)) {
        add_fact(prefix + key, std::move(value));
      }
    }
  }
  [[nodiscard]] std::string absence() const override {
    return "no GPU of vendor " + std::string(vendor_id_) + " with readable files under /sys/class/drm";
  }

  /// A channel with the labels of its GPU.
  [[nodiscard]] Channel gpu_channel(const GpuCard& card, const std::string& path, std::string_view metric,
                                    std::string_view unit, double per_unit) const {
    return {.declaration = describe(
                metric, unit, without_root(path), MetricKind::gauge, 1 / per_unit,
                {{"gpu", std::to_string(card.index)}, {"vendor", std::string(vendor_name_)}, {"device", card.address}}),
            .path = path,
            .per_unit = per_unit};
  }

  /// The directories hwmonN below the card's device, resolved.
  [[nodiscard]] static std::vector<std::string> hwmon_directories(const GpuCard& card) {
    std::vector<std::string> directories;
    for (const std::string& name : list_directory(card.device + "/hwmon")) {
      directories.push_back(resolve_path(card.device + "/hwmon/" + name));
    }
    return directories;
  }

 private:
  std::string_view vendor_name_;
  std::string_view vendor_id_;
  std::size_t told_cards_ = 0;
};

}  // namespace kymo::sense
