#include "sense/jetson/boards.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <map>
#include <stdexcept>

#include "base/system/file.hpp"
#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/source_file.hpp"

namespace kymo::sense {

namespace {

using Texts = std::span<const std::string_view>;

// Part numbers identify modules, or carriers where a device tree names only these.
constexpr std::array<std::string_view, 2> agx_xavier_parts{"nvidia,p2888", "nvidia,p2972"};
constexpr std::array<std::string_view, 1> xavier_nx_parts{"nvidia,p3668"};
constexpr std::array<std::string_view, 4> tx2_parts{"nvidia,p3310", "nvidia,p2771", "nvidia,p3489", "nvidia,p3636"};
constexpr std::array<std::string_view, 3> nano_parts{"nvidia,p3448", "nvidia,p3450", "nvidia,p3541"};
constexpr std::array<std::string_view, 1> agx_thor_parts{"nvidia,p3834"};
constexpr std::array<std::string_view, 1> agx_orin_parts{"nvidia,p3701"};
constexpr std::array<std::string_view, 3> orin_nano_parts{"nvidia,p3767-0003", "nvidia,p3767-0004",
                                                          "nvidia,p3767-0005"};
constexpr std::array<std::string_view, 1> orin_nx_parts{"nvidia,p3767"};

constexpr std::array<std::string_view, 4> orin_gpu_load{
    "/sys/devices/platform/bus@0/17000000.gpu/load", "/sys/devices/platform/17000000.gpu/load",
    "/sys/devices/platform/17000000.ga10b/load", "/sys/devices/platform/gpu.0/load"};
constexpr std::array<std::string_view, 2> orin_gpu_clock{"/sys/class/devfreq/17000000.gpu/cur_freq",
                                                         "/sys/class/devfreq/17000000.ga10b/cur_freq"};
constexpr std::array<std::string_view, 4> xavier_gpu_load{
    "/sys/devices/platform/bus@0/17000000.gpu/load", "/sys/devices/platform/17000000.gv11b/load",
    "/sys/devices/17000000.gv11b/load", "/sys/devices/gpu.0/load"};
constexpr std::array<std::string_view, 2> xavier_gpu_clock{"/sys/class/devfreq/17000000.gv11b/cur_freq",
                                                           "/sys/class/devfreq/17000000.gpu/cur_freq"};
constexpr std::array<std::string_view, 2> tx2_gpu_load{"/sys/devices/17000000.gp10b/load", "/sys/devices/gpu.0/load"};
constexpr std::array<std::string_view, 1> tx2_gpu_clock{"/sys/class/devfreq/17000000.gp10b/cur_freq"};
constexpr std::array<std::string_view, 2> nano_gpu_load{"/sys/devices/57000000.gpu/load", "/sys/devices/gpu.0/load"};
constexpr std::array<std::string_view, 1> nano_gpu_clock{"/sys/class/devfreq/57000000.gpu/cur_freq"};
// Thor's GPU has NVIDIA's desktop driver, and its load comes by NVML.
constexpr std::array<std::string_view, 1> thor_gpu_clock{"/sys/class/devfreq/gpu-gpc-0/cur_freq"};
constexpr std::string_view emc_actmon = "/sys/kernel/debug/cactmon/mc_all";
constexpr std::string_view emc_clk_rate = "/sys/kernel/debug/clk/emc/clk_rate";

constexpr std::array<std::string_view, 11> agx_orin_zones{"cpu",  "gpu",  "cv0", "cv1",    "cv2",   "soc0",
                                                          "soc1", "soc2", "tj",  "tboard", "tdiode"};
constexpr Texts orin_nx_zones = Texts(agx_orin_zones).first(10);
constexpr std::array<std::string_view, 6> xavier_zones{"cpu", "gpu", "aux", "pllx", "ao", "tj"};
constexpr std::array<std::string_view, 5> tx2_zones{"bcpu", "mcpu", "gpu", "pll", "ao"};
constexpr std::array<std::string_view, 4> nano_zones{"cpu", "mem", "gpu", "pllx"};
constexpr std::array<std::string_view, 5> thor_zones{"cpu", "gpu", "soc012", "soc345", "tj"};

// As JetPack 5 and 6 number them.
constexpr std::string_view first_chip = "/1-0040/hwmon/hwmon3";
constexpr std::string_view second_chip = "/1-0041/hwmon/hwmon4";
constexpr std::array<BoardRail, 4> agx_orin_rails{{{"VDD_GPU_SOC", first_chip, '1'},
                                                   {"VDD_CPU_CV", first_chip, '2'},
                                                   {"VIN_SYS_5V0", first_chip, '3'},
                                                   {"VDDQ_VDD2_1V8AO", second_chip, '2'}}};
constexpr std::array<BoardRail, 3> orin_nx_rails{
    {{"VDD_IN", first_chip, '1'}, {"VDD_CPU_GPU_CV", first_chip, '2'}, {"VDD_SOC", first_chip, '3'}}};

// As JetPack 5 and, for TX2 and Nano, JetPack 4 has them.
constexpr std::array<BoardRail, 6> agx_xavier_rails{{{"GPU", first_chip, '1'},
                                                     {"CPU", first_chip, '2'},
                                                     {"SOC", first_chip, '3'},
                                                     {"CV", second_chip, '1'},
                                                     {"VDDRQ", second_chip, '2'},
                                                     {"SYS5V", second_chip, '3'}}};
constexpr std::string_view xavier_nx_chip = "/7-0040/hwmon/hwmon3";
constexpr std::array<BoardRail, 3> xavier_nx_rails{
    {{"VDD_IN", xavier_nx_chip, '1'}, {"VDD_CPU_GPU_CV", xavier_nx_chip, '2'}, {"VDD_SOC", xavier_nx_chip, '3'}}};
constexpr std::string_view tx2_first_chip = "/0-0040/iio:device0";
constexpr std::string_view tx2_second_chip = "/0-0041/iio:device1";
constexpr std::array<BoardRail, 6> tx2_rails{{{"VDD_SYS_GPU", tx2_first_chip, '0'},
                                              {"VDD_SYS_SOC", tx2_first_chip, '1'},
                                              {"VDD_4V0_WIFI", tx2_first_chip, '2'},
                                              {"VDD_IN", tx2_second_chip, '0'},
                                              {"VDD_SYS_CPU", tx2_second_chip, '1'},
                                              {"VDD_SYS_DDR", tx2_second_chip, '2'}}};
constexpr std::string_view nano_chip = "/6-0040/iio:device0";
constexpr std::array<BoardRail, 3> nano_rails{
    {{"POM_5V_IN", nano_chip, '0'}, {"POM_5V_GPU", nano_chip, '1'}, {"POM_5V_CPU", nano_chip, '2'}}};

// As JetPack 7 has them. VIN, the whole input, is measured by a chip of its own, whose address differs by carrier.
constexpr std::string_view thor_chip = "/2-0040/hwmon/hwmon5";
constexpr std::array<BoardRail, 3> thor_rails{
    {{"VDD_GPU", thor_chip, '1'}, {"VDD_CPU_SOC_MSS", thor_chip, '2'}, {"VIN_SYS_5V0", thor_chip, '3'}}};

// Orin Nano before Orin NX: their part numbers begin alike.
constexpr std::array<BoardEntry, 9> boards{{
    {"agx_orin", agx_orin_parts, 12, orin_gpu_load, orin_gpu_clock, emc_actmon, emc_clk_rate, agx_orin_zones,
     agx_orin_rails},
    {"orin_nano", orin_nano_parts, 6, orin_gpu_load, orin_gpu_clock, emc_actmon, emc_clk_rate, orin_nx_zones,
     orin_nx_rails},
    {"orin_nx", orin_nx_parts, 8, orin_gpu_load, orin_gpu_clock, emc_actmon, emc_clk_rate, orin_nx_zones,
     orin_nx_rails},
    {"agx_thor", agx_thor_parts, 14, {}, thor_gpu_clock, {}, {}, thor_zones, thor_rails},
    {"agx_xavier", agx_xavier_parts, 8, xavier_gpu_load, xavier_gpu_clock, emc_actmon, emc_clk_rate, xavier_zones,
     agx_xavier_rails},
    {"xavier_nx", xavier_nx_parts, 6, xavier_gpu_load, xavier_gpu_clock, emc_actmon, emc_clk_rate, xavier_zones,
     xavier_nx_rails},
    {"tx2", tx2_parts, 6, tx2_gpu_load, tx2_gpu_clock, emc_actmon, emc_clk_rate, tx2_zones, tx2_rails},
    {"nano", nano_parts, 4, nano_gpu_load, nano_gpu_clock, {}, {}, nano_zones, nano_rails},
    {"generic", {}, 0, {}, {}, {}, {}, {}, {}},
}};

/// Rails that feed other measured rails on this maker's boards.
constexpr std::array<std::string_view, 4> total_rails{"VDD_IN", "VIN", "POM_5V_IN", "VIN_SYS_TOTAL"};
/// Device tree names of unconnected channels.
constexpr std::array<std::string_view, 2> unwired{"NC", "N/A"};

constexpr std::string_view chips_directory = "/sys/bus/i2c/drivers/ina3221";
/// NVIDIA's own driver up to JetPack 4.
constexpr std::string_view old_chips_directory = "/sys/bus/i2c/drivers/ina3221x";
/// A chip of one channel, which on Thor measures the whole input.
constexpr std::string_view input_chips_directory = "/sys/bus/i2c/drivers/ina238";
constexpr std::string_view input_rail = "VIN";
constexpr std::string_view old_chip_prefix = "iio:device";
constexpr std::string_view zones_directory = "/sys/class/thermal";

bool contains(Texts texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// A register that returns a number, or will once its chip is awake.
bool is_readable_number(const std::string& path) {
  SourceFile file(path, 64);
  const double value = file.read_number();
  return value == value || file.error() == EAGAIN;
}

/// The files of a rail whose chip is a directory such as .../1-0040/hwmon/hwmon3 or .../6-0040/iio:device0.
PowerRail rail_of(std::string label, const std::string& directory, const std::string& channel) {
  const bool is_old = directory.find(old_chip_prefix) != std::string::npos;
  const bool is_total = contains(total_rails, label);
  return {std::move(label), directory + (is_old ? "/in_voltage" : "/in") + channel + "_input",
          directory + (is_old ? "/in_current" : "/curr") + channel + "_input", is_total};
}

/// Adds a channel of a chip as a rail if it has a label and can be read.
void add_rail(const std::string& label, const std::string& directory, const std::string& channel, std::string_view chip,
              std::vector<PowerRail>& rails) {
  PowerRail rail = rail_of(label, directory, channel);
  if (label.empty() || contains(unwired, label) || !is_readable_number(rail.voltage_path) ||
      !is_readable_number(rail.current_path)) {
    return;
  }
  const bool is_known =
      std::any_of(rails.begin(), rails.end(), [&](const PowerRail& other) { return other.label == label; });
  if (is_known) {
    rail.label.append("@").append(chip);
  }
  rails.push_back(std::move(rail));
}

/// The first of a chip's files that holds a label.
std::string label_of(const std::string& directory, std::initializer_list<std::string> files) {
  std::string label;
  for (const std::string& file : files) {
    label = label.empty() ? read_trimmed(directory + "/" + file) : label;
  }
  return label;
}

/// Adds the rails of one chip.
void add_rails_of(const std::string& directory, std::string_view chip, std::vector<PowerRail>& rails) {
  if (directory.find(input_chips_directory) != std::string::npos) {
    const std::string label = label_of(directory, {"label", "in1_label"});
    add_rail(label.empty() ? std::string(input_rail) : label, directory, "1", chip, rails);
    return;
  }
  constexpr unsigned channels = 8;
  for (unsigned channel = 0; channel <= channels; ++channel) {
    const std::string number = std::to_string(channel);
    const std::string label =
        label_of(directory, {"in" + number + "_label", "curr" + number + "_label", "rail_name_" + number});
    add_rail(label, directory, number, chip, rails);
  }
}

/// The address of a chip: 64 for "1-0040".
std::optional<unsigned> chip_address(std::string_view name) {
  const std::size_t dash = name.find('-');
  unsigned address = 0;
  if (dash == std::string_view::npos || dash == 0 || !base::is_digit(name.front())) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(dash + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address, 16);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional<unsigned>(address) : std::nullopt;
}

/// Every labelled channel of every INA3221 and, on a Jetson, the input's INA238, ordered by chip address. The number
/// after "hwmon" is arbitrary.
std::vector<PowerRail> find_rails(const std::string& root, bool is_jetson) {
  std::vector<std::pair<unsigned, std::string>> chips;
  for (const std::string_view driver : {chips_directory, old_chips_directory, input_chips_directory}) {
    if (driver == input_chips_directory && !is_jetson) {
      continue;  // there it measures anything, as the hwmon sensor tells
    }
    const std::string directory = root + std::string(driver);
    for (const std::string& name : list_directory(directory)) {
      if (const auto address = chip_address(name)) {
        chips.emplace_back(*address, directory + "/" + name);
      }
    }
  }
  std::stable_sort(chips.begin(), chips.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::vector<PowerRail> rails;
  for (const auto& [address, chip] : chips) {
    const std::string_view name = std::string_view(chip).substr(chip.rfind('/') + 1);
    for (const std::string& hwmon : list_directory(chip + "/hwmon")) {
      add_rails_of(chip + "/hwmon/" + hwmon, name, rails);
    }
    for (const std::string& device : list_directory(chip)) {
      if (device.rfind(old_chip_prefix, 0) == 0) {
        add_rails_of(chip + "/" + device, name, rails);
      }
    }
  }
  return rails;
}

/// The table's name for a zone: "cpu" for "cpu-thermal", and for "CPU-therm" in older kernels.
std::string part_of(std::string_view type) {
  for (const std::string_view end : {std::string_view("-thermal"), std::string_view("-therm")}) {
    if (type.size() > end.size() && type.ends_with(end)) {
      type.remove_suffix(end.size());
      break;
    }
  }
  std::string part(type);
  std::transform(part.begin(), part.end(), part.begin(), [](char character) {
    return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
  });
  return part;
}

/// All zones by type, those named in the board's entry first.
std::vector<ThermalZone> find_zones(const std::string& root, Texts order) {
  const std::string directory = root + std::string(zones_directory);
  std::vector<ThermalZone> zones;
  std::map<std::string, unsigned> by_type;
  for (const std::string& entry : list_directory(directory)) {
    if (entry.rfind("thermal_zone", 0) != 0) {
      continue;
    }
    const std::string zone = directory + "/" + entry;
    const std::string name = read_trimmed(zone + "/type");
    if (name.empty()) {
      continue;
    }
    // Distinguishes zones of one type like the thermal sensor.
    const unsigned before = by_type[name]++;
    zones.push_back({before == 0 ? name : name + "#" + std::to_string(before + 1), zone + "/temp"});
  }
  const auto rank = [order](const ThermalZone& zone) {
    return std::find(order.begin(), order.end(), part_of(zone.name)) - order.begin();
  };
  std::stable_sort(zones.begin(), zones.end(),
                   [&](const ThermalZone& left, const ThermalZone& right) { return rank(left) < rank(right); });
  return zones;
}

/// Number of CPUs in a list such as "0-3,6"; 0 for garbage.
unsigned count_cpus(std::string_view list) {
  constexpr std::uint64_t most = 1 << 16;
  TextCursor cursor(trimmed(list));
  unsigned count = 0;
  while (!cursor.at_end()) {
    const auto first = cursor.number();
    const auto last = cursor.skip("-") ? cursor.number() : first;
    if (!first || !last || *last < *first || *last >= most || (!cursor.at_end() && !cursor.skip(","))) {
      return 0;
    }
    count += static_cast<unsigned>(*last - *first + 1);
  }
  return count;
}

/// The CPUs that have counters in /proc/stat, which are those that are online; without that file, those that the kernel
/// lists as present.
unsigned online_cpus(const std::string& root) {
  const std::string stat = base::read_small_file(root + "/proc/stat");
  unsigned count = 0;
  for (std::size_t at = stat.find("\ncpu"); at != std::string::npos; at = stat.find("\ncpu", at + 1)) {
    ++count;
  }
  return count != 0 ? count : count_cpus(base::read_small_file(root + "/sys/devices/system/cpu/present"));
}

/// Adds what a machine of another kind does not have, at the places where the board has it.
void fill_in(BoardConfig& config, const BoardEntry& entry, const std::string& root) {
  const auto has_rail = [&](const PowerRail& rail) {
    return std::any_of(entry.rails.begin(), entry.rails.end(),
                       [&](const BoardRail& known) { return known.label == rail.label; });
  };
  if (std::none_of(config.power_rails.begin(), config.power_rails.end(), has_rail) && !entry.rails.empty()) {
    config.power_rails.clear();
    for (const BoardRail& rail : entry.rails) {
      const bool is_old = rail.directory.find(old_chip_prefix) != std::string_view::npos;
      const std::string driver = root + std::string(is_old ? old_chips_directory : chips_directory);
      config.power_rails.push_back(
          rail_of(std::string(rail.label), driver + std::string(rail.directory), std::string(1, rail.channel)));
    }
  }
  const auto has_zone = [&](const ThermalZone& zone) { return contains(entry.zones, part_of(zone.name)); };
  if (std::none_of(config.thermal_zones.begin(), config.thermal_zones.end(), has_zone) && !entry.zones.empty()) {
    config.thermal_zones.clear();
    for (const std::string_view zone : entry.zones) {
      const std::string number = std::to_string(config.thermal_zones.size());
      config.thermal_zones.push_back(
          {std::string(zone) + "-thermal", root + std::string(zones_directory) + "/thermal_zone" + number + "/temp"});
    }
  }
}

std::string known_boards() {
  std::string names;
  for (const BoardEntry& board : boards) {
    names.append(names.empty() ? "" : ", ").append(board.name);
  }
  return names;
}

BoardConfig make_config(const BoardEntry& entry, const std::string& root) {
  BoardConfig config;
  config.board_name = entry.name;
  config.num_cpu_cores = entry.cpu_cores != 0 ? entry.cpu_cores : online_cpus(root);
  config.gpu_load_path = first_existing(root, entry.gpu_load_paths);
  if (!entry.emc_actmon_path.empty()) {
    config.emc_actmon_path = root + std::string(entry.emc_actmon_path);
    config.emc_clk_rate_path = root + std::string(entry.emc_clk_rate_path);
  }
  config.power_rails = find_rails(root, !entry.compatible_parts.empty());
  config.thermal_zones = find_zones(root, entry.zones);
  return config;
}

/// Whether one of the NUL-separated strings of a device tree's `compatible` has this part: "nvidia,p3701" is in
/// "nvidia,p3701-0000" and in "nvidia,p3737-0000+p3701-0000" (a module on its carrier).
bool is_compatible(std::string_view compatible, std::string_view part) {
  const std::string_view maker = part.substr(0, part.find(',') + 1);
  const std::string_view number = part.substr(maker.size());
  for (TextCursor rest(compatible); !rest.at_end();) {
    const std::string_view text = rest.until('\0');
    if (text.starts_with(maker) && text.find(number) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

/// The strings of `compatible` in readable form, without unprintable characters.
std::string printable_list(std::string_view compatible) {
  std::string list;
  for (const char character : compatible) {
    if (character == '\0') {
      list += ", ";
    } else if (character >= ' ' && character <= '~') {
      list += character;
    }
  }
  while (!list.empty() && (list.back() == ' ' || list.back() == ',')) {
    list.pop_back();
  }
  return list;
}

}  // namespace

std::span<const BoardEntry> board_table() {
  return boards;
}

const BoardEntry& board_entry(std::string_view name) {
  const auto* const found =
      std::find_if(boards.begin(), boards.end(), [name](const BoardEntry& board) { return board.name == name; });
  if (found == boards.end()) {
    throw std::runtime_error("no board is named \"" + std::string(name) + "\"; known are " + known_boards());
  }
  return *found;
}

std::string first_existing(const std::string& root, std::span<const std::string_view> paths) {
  for (const std::string_view path : paths) {
    if (std::string whole = root + std::string(path); is_there(whole)) {
      return whole;
    }
  }
  return paths.empty() ? std::string() : root + std::string(paths.front());
}

std::string describe_release(const std::string& root) {
  // "# R36 (release), REVISION: 3.0, GCID: 36923193, ..."
  const std::string text = base::read_small_file(root + "/etc/nv_tegra_release");
  TextCursor line(text);
  const auto major = line.skip("# R") ? line.number() : std::nullopt;
  constexpr std::string_view mark = "REVISION: ";
  const std::size_t at = text.find(mark);
  if (!major || at == std::string::npos) {
    return {};
  }
  const std::string_view rest = std::string_view(text).substr(at + mark.size());
  const std::string_view revision = rest.substr(0, rest.find_first_not_of("0123456789."));
  return revision.empty() ? std::string() : std::to_string(*major) + "." + std::string(revision);
}

std::optional<std::uint64_t> power_mode_in(std::string_view status) {
  constexpr std::string_view key = "pmode:";
  const std::size_t at = status.find(key);
  return at != std::string_view::npos ? TextCursor(status.substr(at + key.size())).number() : std::nullopt;
}

std::string describe_power_mode(const std::string& root) {
  const auto mode = power_mode_in(base::read_small_file(root + "/var/lib/nvpmodel/status"));
  if (!mode) {
    return {};
  }
  // "< POWER_MODEL ID=2 NAME=15W >"
  const std::string configuration = base::read_small_file(root + "/etc/nvpmodel.conf");
  for (TextCursor lines(configuration); !lines.at_end();) {
    TextCursor line(lines.line());
    line.skip_blanks();
    if (!line.skip("<") || line.word() != "POWER_MODEL") {
      continue;
    }
    line.skip_blanks();
    const auto id = line.skip("ID=") ? line.number() : std::nullopt;
    line.skip_blanks();
    if (id == mode && line.skip("NAME=")) {
      return std::to_string(*mode) + " (" + std::string(line.word()) + ")";
    }
  }
  return std::to_string(*mode);
}

}  // namespace kymo::sense

namespace kymo {

BoardConfig detect_board(std::string_view root) {
  const std::string base_path = sense::without_end_slash(root);
  const std::string compatible = base::read_small_file(base_path + "/proc/device-tree/compatible");
  if (compatible.empty()) {
    return get_board_config("generic", root);
  }
  for (const sense::BoardEntry& entry : sense::board_table()) {
    for (const std::string_view part : entry.compatible_parts) {
      if (sense::is_compatible(compatible, part)) {
        BoardConfig config = sense::make_config(entry, base_path);
        // Some modules of a kind have fewer cores than others, and power modes turn cores off.
        if (const unsigned online = sense::online_cpus(base_path); online != 0) {
          config.num_cpu_cores = online;
        }
        return config;
      }
    }
  }
  throw std::runtime_error("the board \"" + sense::printable_list(compatible) + "\" (" + base_path +
                           "/proc/device-tree/compatible) is not known; known are " + sense::known_boards() +
                           "; take \"generic\" for what every Linux board has");
}

BoardConfig get_board_config(std::string_view name, std::string_view root) {
  const sense::BoardEntry& entry = sense::board_entry(name);
  const std::string base_path = sense::without_end_slash(root);
  BoardConfig config = sense::make_config(entry, base_path);
  sense::fill_in(config, entry, base_path);
  return config;
}

}  // namespace kymo
