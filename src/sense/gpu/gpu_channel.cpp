#include "sense/gpu/gpu_channel.hpp"

#include <fstream>
#include <string_view>

#include "base/text/number_text.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/source_file.hpp"

namespace kymo::sense {

namespace {

/// "744c" of the file's "0x744c"; empty for anything else.
std::string hex_id(const std::string& path) {
  const std::string text = read_trimmed(path);
  const bool is_id = text.size() == 6 && text.compare(0, 2, "0x") == 0 &&
                     text.find_first_not_of("0123456789abcdef", 2) == std::string::npos;
  return is_id ? text.substr(2) : std::string();
}

/// A device's name in the list of PCI devices that lspci uses: a line "VENDOR  name", then lines "\tDEVICE  name".
std::string listed_name(const std::string& root, const std::string& vendor, const std::string& device) {
  for (const char* const path : {"/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids"}) {
    std::ifstream list(root + path);
    bool is_of_vendor = false;
    for (std::string line; std::getline(list, line);) {
      const bool is_device = !line.empty() && line.front() == '\t';
      if (!is_device && !line.empty() && line.front() != '#') {
        if (is_of_vendor) {
          break;
        }
        is_of_vendor = line.rfind(vendor + "  ", 0) == 0;
      } else if (is_device && is_of_vendor && line.rfind("\t" + device + "  ", 0) == 0) {
        return std::string(trimmed(std::string_view(line).substr(device.size() + 1)));
      }
    }
  }
  return {};
}

/// The card's own name, else the one that is listed, else its numbers.
std::string card_name_of(const GpuCard& card, const std::string& root) {
  std::string name = read_trimmed(card.device + "/product_name");
  const std::string vendor = hex_id(card.device + "/vendor");
  const std::string device = hex_id(card.device + "/device");
  if (name.empty() && !vendor.empty() && !device.empty()) {
    name = listed_name(root, vendor, device);
    return name.empty() ? vendor + ":" + device : name;
  }
  return name;
}

/// A driver of the kernel's own has the kernel's version.
std::string driver_of(const GpuCard& card, const std::string& root) {
  const std::string link = card.device + "/driver";
  const std::string target = resolve_path(link);
  if (target == link) {
    return {};
  }
  const std::string driver(last_name(target));
  std::string version = read_trimmed(root + "/sys/module/" + driver + "/version");
  if (version.empty()) {
    version = read_trimmed(root + "/proc/sys/kernel/osrelease");
  }
  return version.empty() ? driver : driver + " " + version;
}

/// amdgpu has a cap; i915 and xe have a greatest sustained power. In microwatts.
std::string power_limit_of(const GpuCard& card) {
  constexpr double per_watt = 1e6;
  for (const std::string& hwmon : list_directory(card.device + "/hwmon")) {
    for (const char* const file : {"/power1_cap", "/power1_max"}) {
      const double microwatts = SourceFile(card.device + "/hwmon/" + hwmon + file, 64).read_number();
      if (microwatts > 0) {
        std::string watts;
        base::append_shortest_number(watts, microwatts / per_watt);
        return watts + " W";
      }
    }
  }
  return {};
}

}  // namespace

std::vector<GpuCard> GpuSensor::cards() const {
  std::vector<GpuCard> cards;
  const std::string folder = context().at("/sys/class/drm/");
  for (const std::string& name : list_directory(folder)) {
    // "card0-DP-1" is a connector.
    if (!number_between(name, "card", "") || read_trimmed(folder + name + "/device/vendor") != vendor_id_) {
      continue;
    }
    std::string device = resolve_path(folder + name + "/device");
    std::string address(last_name(device));
    cards.push_back({cards.size(), folder + name, std::move(device), std::move(address)});
  }
  return cards;
}

std::vector<std::pair<std::string, std::string>> facts_of_gpu(const GpuCard& card, const std::string& root) {
  return {{"name", card_name_of(card, root)}, {"driver", driver_of(card, root)}, {"power_limit", power_limit_of(card)}};
}

}  // namespace kymo::sense
