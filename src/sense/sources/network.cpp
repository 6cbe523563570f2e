// Traffic of network interfaces by /proc/net/dev: two heading lines, then a line each:
//
//     eth0: 131323579 3171 0 0 0 0 0 0 162683 1864 0 0 0 0 0 0
//     received: bytes packets errors drops fifo frame compressed multicast; sent: bytes packets errors drops ...
#include <array>
#include <cmath>

#include "sense/common/device_files.hpp"
#include "sense/common/parse.hpp"
#include "sense/common/source_file.hpp"
#include "sense/sources/device_table.hpp"

namespace kymo::sense {

namespace {

class NetworkSensor final : public Sensor {
 public:
  explicit NetworkSensor(const SensorContext& context)
      : Sensor("network", Tier::medium, Cost::kernel),
        file_(SourceFile::of_counters(context.at("/proc/net/dev"))),
        devices_(context.at("/sys/class/net")) {
    take(file_.read());
  }

 private:
  enum Count : std::size_t { received, sent, errors, drops, count_count };

  using Interface = CountedDevice<count_count>;

  void read_source(std::int64_t now_ns) override {
    const std::string_view text = file_.read();
    take(text);
    if (text.empty()) {
      set_unavailable(file_.describe_error());
    } else if (is_full_) {
      set_trouble("more than " + std::to_string(most_interfaces) +
                  " interfaces, the rest is left out: " + file_.path());
    }
    for (Interface& interface : interfaces_) {
      if (!interface.has_metrics) {
        continue;
      }
      for (std::size_t i = 0; i < count_count; ++i) {
        CounterRate& rate = interface.rates[i];
        if (!interface.is_listed) {
          rate.forget();
        }
        set(interface.first_metric + i,
            interface.is_listed ? std::round(rate.take(interface.counts[i], now_ns) * 100) / 100 : missing);
      }
    }
  }

  void take(std::string_view text) {
    for (Interface& interface : interfaces_) {
      interface.is_listed = false;
    }
    TextCursor lines(text);
    std::size_t next = 0;
    while (const auto whole = lines.whole_line()) {
      TextCursor line(*whole);
      const std::string_view name = trimmed(line.until(':'));
      take_line(name, line, next);
    }
    show_interfaces();
  }

  void take_line(std::string_view name, TextCursor line, std::size_t& next) {
    std::array<double, 16> columns{};
    if (!take_numbers(line, columns)) {
      return;
    }
    Interface* interface = find_entry(interfaces_, &Interface::name, name, next);
    if (interface == nullptr) {
      // Machines with containers keep creating interfaces.
      if (interfaces_.size() == most_interfaces) {
        is_full_ = true;
        return;
      }
      interfaces_.emplace_back();
      interface = &interfaces_.back();
      interface->name = name;
    }
    interface->is_listed = true;
    interface->counts = {columns[0], columns[8], columns[2] + columns[10], columns[3] + columns[11]};
  }

  /// Only interfaces with traffic get metrics; the loopback only if there is no other.
  void show_interfaces() {
    for (Interface& interface : interfaces_) {
      const bool is_loopback = interface.name == "lo" && interfaces_.size() > 1;
      const bool has_moved = interface.counts[received] + interface.counts[sent] > 0;
      if (!interface.has_metrics && interface.is_listed && has_moved && !is_loopback) {
        add_metrics(interface);
      }
    }
  }

  void add_metrics(Interface& interface) {
    // A bridge, bond or VLAN: its traffic passes through the interfaces below it as well.
    bool is_above_others = false;
    for (const std::string& entry : list_directory(devices_ + "/" + interface.name)) {
      is_above_others |= entry.compare(0, 6, "lower_") == 0;
    }
    const auto add = [&](std::string_view name, std::string_view unit) {
      MetricDeclaration declaration =
          describe(name, unit, file_.path(), MetricKind::gauge, 0, {{"interface", interface.name}});
      declaration.traits = is_above_others ? MetricDeclaration::total : 0;
      return add_metric(std::move(declaration));
    };
    interface.first_metric = add("network_receive", "B/s");
    add("network_transmit", "B/s");
    add("network_errors", "1/s");
    add("network_drops", "1/s");
    interface.has_metrics = true;
  }

  static constexpr std::size_t most_interfaces = 256;

  SourceFile file_;
  std::string devices_;
  std::vector<Interface> interfaces_;
  bool is_full_ = false;
};

}  // namespace

void make_network_sensors(const SensorContext& context, SensorList& list) {
  list.push_back(std::make_unique<NetworkSensor>(context));
}

}  // namespace kymo::sense
