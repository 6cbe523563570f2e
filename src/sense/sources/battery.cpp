// /sys/class/power_supply: the power that the batteries of a laptop give. Sensor "battery".
//
// On mains a battery measures its own charging, not what the machine uses: that is a gap.
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/sensor.hpp"
#include "sense/common/source_file.hpp"

namespace kymo::sense {

namespace {

constexpr std::string_view supply_folder = "/sys/class/power_supply/";

class BatterySensor final : public Sensor {
 public:
  explicit BatterySensor(const SensorContext& context) : Sensor("battery", Tier::medium), context_(context) {
    find_batteries();
  }

 protected:
  void read_source(std::int64_t now_ns) override {
    if (batteries_.empty()) {
      find_batteries();
    }
    if (batteries_.empty()) {
      set_unavailable("no battery of this machine under " + std::string(supply_folder));
      return;
    }
    bool feeds_machine = false;
    const SourceFile* failed = nullptr;
    for (Battery& battery : batteries_) {
      const std::string_view status = trimmed(battery.status.read());
      battery.is_discharging = status == "Discharging";
      feeds_machine = feeds_machine || battery.is_discharging;
      failed = battery.status.error() != 0 ? &battery.status : failed;
    }
    for (Battery& battery : batteries_) {
      const double watts = battery.is_discharging ? read_watts(battery) : 0;
      // A battery at rest gives nothing while another one feeds the machine.
      set_renewing(battery.metric, feeds_machine ? watts : missing, now_ns);
      const double charge = battery.charge.read_number();
      set(battery.metric + 1, charge >= 0 && charge <= 100 ? charge : missing);
    }
    set_trouble(failed != nullptr ? failed->describe_error() : "");
  }

 private:
  struct Battery {
    SourceFile status;
    SourceFile charge;
    std::optional<SourceFile> power;  // without it, voltage and current
    SourceFile voltage;
    SourceFile current;
    std::size_t metric = 0;  // followed by its charge
    bool is_discharging = false;
  };

  /// The signs of discharging differ by driver.
  static double read_watts(Battery& battery) {
    constexpr double micro = 1e-6;
    if (battery.power) {
      return std::abs(battery.power->read_number()) * micro;
    }
    return std::abs(battery.voltage.read_number() * micro * battery.current.read_number() * micro);
  }

  void find_batteries() {
    for (const std::string& name : list_directory(context_.at(supply_folder))) {
      const std::string listed = std::string(supply_folder) + name;
      const std::string folder = context_.at(listed);
      // Mice and headsets have batteries too, of scope "Device".
      if (read_trimmed(folder + "/type") != "Battery" || read_trimmed(folder + "/scope") == "Device") {
        continue;
      }
      const bool has_power = is_there(folder + "/power_now");
      const std::string source = listed + (has_power ? "/power_now" : "/voltage_now x current_now");
      MetricDeclaration power = describe("battery_power", "W", source, MetricKind::gauge, has_power ? 1e-6 : 0);
      MetricDeclaration charge = describe("battery_charge", "%", listed + "/capacity", MetricKind::gauge, 1);
      power.labels = charge.labels = {{"battery", name}};
      const auto file = [&folder](const char* file_name) { return SourceFile(folder + "/" + file_name, number_bytes); };
      Battery battery{file("status"), file("capacity"), std::nullopt, file("voltage_now"), file("current_now")};
      if (has_power) {
        battery.power.emplace(file("power_now"));
      }
      battery.metric = add_metric(std::move(power));
      add_metric(std::move(charge));
      batteries_.push_back(std::move(battery));
    }
  }

  SensorContext context_;
  std::vector<Battery> batteries_;
};

}  // namespace

void make_battery_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<BatterySensor>(context));
}

}  // namespace kymo::sense
