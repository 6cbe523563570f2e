// /sys/class/hwmon: measurements of the chips on boards, drives and power supplies. Power, energy, voltage and current
// at the medium tier, temperatures and fans at the slow one.
//
// Every boot renumbers the hwmon directories, so chips are identified by the file `name`, and by the device behind it
// if two chips share a name.
#include <algorithm>
#include <array>
#include <map>

#include "base/system/file.hpp"
#include "sense/common/channel_sensor.hpp"
#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"

namespace kymo::sense {

namespace {

constexpr std::string_view chip_folder = "/sys/class/hwmon/";

/// One kind of file of a chip: tempN_input etc.
struct Quantity {
  Tier tier;
  std::string_view prefix;
  std::string_view suffix;
  std::string_view metric;
  std::string_view unit;
  double per_unit;
  MetricKind kind;
  Channel::Pace pace;
};

// If a chip has two files for the same quantity, the first in this list is used.
constexpr std::array quantities = {
    Quantity{Tier::medium, "energy", "_input", "energy", "J", 1e6, MetricKind::energy_counter, Channel::Pace::own},
    Quantity{Tier::medium, "power", "_average", "power", "W", 1e6, MetricKind::gauge, Channel::Pace::own},
    Quantity{Tier::medium, "power", "_input", "power", "W", 1e6, MetricKind::gauge, Channel::Pace::own},
    Quantity{Tier::medium, "in", "_input", "voltage", "V", 1e3, MetricKind::gauge, Channel::Pace::own},
    Quantity{Tier::medium, "curr", "_input", "current", "A", 1e3, MetricKind::gauge, Channel::Pace::own},
    Quantity{Tier::slow, "temp", "_input", "temperature", "C", 1e3, MetricKind::gauge, Channel::Pace::every_read},
    Quantity{Tier::slow, "fan", "_input", "fan_speed", "rpm", 1, MetricKind::gauge, Channel::Pace::every_read},
};

/// Chips read by their own sensors.
constexpr std::array<std::string_view, 4> left_out = {"ina3221", "amdgpu", "i915", "xe"};

/// A chip that on a Jetson is a rail of the board's.
constexpr std::string_view board_chip = "ina238";

/// Reads a duration in milliseconds from a file; 0 if there is none.
std::int64_t stated_ns(const std::string& path) {
  double milliseconds = 0;
  const bool is_sound = parse_whole_number(read_trimmed(path), milliseconds);
  return is_sound && milliseconds > 0 && milliseconds < 1e6 ? static_cast<std::int64_t>(milliseconds * 1e6) : 0;
}

struct Chip {
  std::string directory;  // resolved, including the root
  std::string listed;     // its path under /sys/class/hwmon
  std::string name;
  std::string device;  // resolved; empty: it has none
  std::string label;
};

class HwmonSensor final : public ChannelSensor {
 public:
  HwmonSensor(const SensorContext& context, Tier tier) : ChannelSensor("hwmon", tier, context) {}

 protected:
  std::string signature() override {
    std::string text;
    for (const std::string& name : list_directory(context().at(chip_folder))) {
      text += resolve_path(context().at(chip_folder) + name) + '\n';
    }
    return text;
  }

  std::vector<Channel> find_channels() override {
    std::vector<Channel> channels;
    for (const Chip& chip : find_chips()) {
      add_channels(chip, channels);
    }
    return channels;
  }

  [[nodiscard]] std::string absence() const override {
    return std::string(tier() == Tier::slow ? "no temperatures or fans" : "no power, energy, voltages or currents") +
           " under " + std::string(chip_folder);
  }

 private:
  [[nodiscard]] bool is_on_jetson() const {
    return base::read_small_file(context().at("/proc/device-tree/compatible")).find("nvidia,tegra") !=
           std::string::npos;
  }

  std::vector<Chip> find_chips() const {
    std::vector<Chip> chips;
    const bool is_jetson = is_on_jetson();
    std::map<std::string, unsigned> by_name;
    for (const std::string& entry : list_directory(context().at(chip_folder))) {
      Chip chip;
      chip.listed = std::string(chip_folder) + entry;
      chip.directory = resolve_path(context().at(chip.listed));
      chip.name = read_trimmed(chip.directory + "/name");
      if (chip.name.empty() || std::find(left_out.begin(), left_out.end(), chip.name) != left_out.end() ||
          (is_jetson && chip.name == board_chip)) {
        continue;
      }
      if (is_there(chip.directory + "/device")) {
        chip.device = resolve_path(chip.directory + "/device");
      }
      // The battery sensor knows whether it charges.
      if (read_trimmed(chip.device + "/type") == "Battery") {
        continue;
      }
      ++by_name[chip.name];
      chips.push_back(std::move(chip));
    }
    // Device paths have a stable order, unlike the numbers.
    std::stable_sort(chips.begin(), chips.end(),
                     [](const Chip& left, const Chip& right) { return left.device < right.device; });
    std::map<std::string, unsigned> by_label;
    for (Chip& chip : chips) {
      chip.label = chip.name;
      if (by_name[chip.name] > 1 && !chip.device.empty()) {
        chip.label += '@';
        chip.label += last_name(chip.device);
      }
      const unsigned before = by_label[chip.label]++;
      if (before > 0) {
        chip.label += '#' + std::to_string(before + 1);
      }
    }
    return chips;
  }

  void add_channels(const Chip& chip, std::vector<Channel>& channels) const {
    const std::vector<std::string> names = list_directory(chip.directory);
    std::vector<std::pair<std::string_view, std::string>> taken;  // metric and channel of this chip
    for (const Quantity& quantity : quantities) {
      if (quantity.tier != tier()) {
        continue;
      }
      for (const std::string& name : names) {
        const std::optional<unsigned> number = number_between(name, quantity.prefix, quantity.suffix);
        const std::string stem = std::string(quantity.prefix) + std::to_string(number.value_or(0));
        const bool has_better = quantity.suffix == "_input" && quantity.prefix == "power" &&
                                std::find(names.begin(), names.end(), stem + "_average") != names.end();
        if (!number || has_better) {
          continue;
        }
        std::string label = read_trimmed(chip.directory + "/" + stem + "_label");
        if (label.empty()) {
          label = stem;
        } else if (std::find(taken.begin(), taken.end(), std::pair{quantity.metric, label}) != taken.end()) {
          label += " (" + stem + ")";
        }
        taken.emplace_back(quantity.metric, label);
        channels.push_back(make_channel(chip, quantity, name, stem, std::move(label)));
      }
    }
  }

  static Channel make_channel(const Chip& chip, const Quantity& quantity, const std::string& name,
                              const std::string& stem, std::string label) {
    Channel channel{
        .declaration = describe(quantity.metric, quantity.unit, chip.listed + "/" + name, quantity.kind,
                                1 / quantity.per_unit, {{"chip", chip.label}, {"channel", std::move(label)}}),
        .path = chip.directory + "/" + name,
        .per_unit = quantity.per_unit,
        .pace = quantity.pace};
    channel.declaration.renewal_ns = stated_ns(chip.directory + "/update_interval");
    if (quantity.suffix == "_average") {
      channel.declaration.window_ns = stated_ns(chip.directory + "/" + stem + "_average_interval");
    }
    return channel;
  }
};

}  // namespace

void make_hwmon_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<HwmonSensor>(context, Tier::medium));
  list.push_back(std::make_unique<HwmonSensor>(context, Tier::slow));
}

}  // namespace kymo::sense
