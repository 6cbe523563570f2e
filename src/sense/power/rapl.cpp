// /sys/class/powercap/intel-rapl*: energy counters of Intel and AMD processors in microjoules. They wrap around after
// max_energy_range_uj and renew themselves about every millisecond.
//
// Domains nest: psys contains the packages and more of the platform; a package contains its core and uncore. dram is
// separate.
#include <algorithm>
#include <cerrno>

#include "sense/common/channel_sensor.hpp"
#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"

namespace kymo::sense {

namespace {

constexpr std::string_view folder = "/sys/class/powercap/";

struct Domain {
  std::string entry;    // "intel-rapl:0:1"
  std::string name;     // "core"
  std::string package;  // "0", "0-die-1"; empty: not part of a package
};

class RaplSensor final : public ChannelSensor {
 public:
  explicit RaplSensor(const SensorContext& context) : ChannelSensor("rapl", Tier::medium, context) {}

 protected:
  std::string signature() override {
    std::string text;
    for (const std::string& name : list_directory(context().at(folder))) {
      text += name + '\n';
    }
    return text;
  }

  std::vector<Channel> find_channels() override {
    const std::vector<Domain> domains = find_domains();
    std::vector<Channel> channels;
    for (const Domain& domain : domains) {
      const std::string directory = context().at(folder) + domain.entry;
      Channel channel;
      channel.declaration = describe("cpu_energy", "J", std::string(folder) + domain.entry + "/energy_uj",
                                     MetricKind::energy_counter, 1e-6);
      if (!domain.package.empty()) {
        channel.declaration.labels.emplace_back("package", domain.package);
      }
      channel.declaration.labels.emplace_back("domain", domain.name);
      if (contains_others(domain, domains)) {
        channel.declaration.traits |= MetricDeclaration::total;
      }
      channel.power = describe_power(channel.declaration, "cpu_power", power_window_ns);
      channel.path = resolve_path(directory) + "/energy_uj";
      channel.per_unit = 1e6;
      double greatest = 0;
      if (parse_whole_number(read_trimmed(directory + "/max_energy_range_uj"), greatest) && greatest > 0) {
        channel.range = greatest + 1;
      }
      channels.push_back(std::move(channel));
    }
    return channels;
  }

  [[nodiscard]] std::string absence() const override {
    return "no energy counters (intel-rapl) under " + std::string(folder);
  }

  [[nodiscard]] std::string advice_for(int error) const override {
    return error == EACCES || error == EPERM
               ? "sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next boot; a udev rule makes it last)"
               : std::string();
  }

 private:
  std::vector<Domain> find_domains() const {
    std::vector<Domain> domains;
    for (const std::string& entry : list_directory(context().at(folder))) {
      const std::size_t last_colon = entry.rfind(':');
      if (!entry.starts_with("intel-rapl") || last_colon == std::string::npos) {
        continue;
      }
      Domain domain{entry, read_trimmed(context().at(folder) + entry + "/name"), {}};
      if (domain.name.empty()) {
        continue;
      }
      const bool is_part = entry.find(':') != last_colon;
      const std::string whole =
          is_part ? read_trimmed(context().at(folder) + entry.substr(0, last_colon) + "/name") : domain.name;
      if (whole.starts_with("package-")) {
        domain.package = whole.substr(8);
      }
      // The same counters may appear again through memory-mapped registers (intel-rapl-mmio), which may be listed
      // before or after intel-rapl.
      const auto same = std::find_if(domains.begin(), domains.end(), [&](const Domain& known) {
        return known.name == domain.name && known.package == domain.package;
      });
      if (same == domains.end()) {
        domains.push_back(std::move(domain));
      } else if (entry.starts_with("intel-rapl:")) {
        *same = std::move(domain);
      }
    }
    return domains;
  }

  static bool contains_others(const Domain& domain, const std::vector<Domain>& domains) {
    return std::any_of(domains.begin(), domains.end(), [&](const Domain& other) {
      if (domain.name == "psys") {
        return other.name.starts_with("package-");
      }
      return domain.name.starts_with("package-") && other.package == domain.package &&
             (other.name == "core" || other.name == "uncore");
    });
  }
};

}  // namespace

void make_rapl_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<RaplSensor>(context));
}

}  // namespace kymo::sense
