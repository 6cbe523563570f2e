// Energy of a Mac's GPU by IOReport's counter "GPU Energy" of the group "Energy Model".
//
// The counter advances in steps of about two seconds. The sample that sees a step ends a stretch, which began with the
// sample that saw the previous step. Power is known for whole stretches only. Energy before the first step is unknown.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "sense/macos/calls.hpp"

namespace kymo::sense {

namespace {

constexpr std::string_view source = "IOReport Energy Model: GPU Energy";
constexpr std::string_view channel_name = "GPU Energy";
constexpr std::int64_t batch_ns = 2'000'000'000;

std::optional<double> joules_in(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 5> units{
      {{"nJ", 1e-9}, {"uJ", 1e-6}, {"\u00b5J", 1e-6}, {"mJ", 1e-3}, {"J", 1}}};
  const auto* const known =
      std::find_if(units.begin(), units.end(), [unit](const auto& entry) { return entry.first == unit; });
  return known != units.end() ? std::optional(known->second) : std::nullopt;
}

class EnergyReportSensor final : public Sensor {
 public:
  explicit EnergyReportSensor(EnergyReportCalls calls)
      : Sensor("apple_power", Tier::medium), calls_(std::move(calls)) {}

 private:
  void read_source(std::int64_t now_ns) override {
    std::vector<EnergyChannel> channels;
    if (std::string reason = calls_.sample(channels); !reason.empty()) {
      lose(std::move(reason));
      return;
    }
    const EnergyChannel* gpu = nullptr;
    for (const EnergyChannel& channel : channels) {
      gpu = channel.name == channel_name ? &channel : gpu;
    }
    if (gpu == nullptr) {
      lose("IOReport's group \"Energy Model\" has no channel \"GPU Energy\"");
      return;
    }
    const std::optional<double> unit = joules_in(gpu->unit);
    if (!unit || gpu->value < 0) {
      lose("IOReport's \"GPU Energy\" is not understood: " + std::to_string(gpu->value) + " " + gpu->unit);
      return;
    }
    if (!energy_) {
      add_metrics(*unit);
    }
    take(gpu->value, *unit, now_ns);
  }

  void add_metrics(double unit) {
    MetricDeclaration energy = describe("gpu_energy", "J", source, MetricKind::energy_counter, unit);
    energy.renewal_ns = batch_ns;
    energy.labels = {{"gpu", "0"}};
    energy_ = add_metric(energy);
    power_ = add_metric(describe_power(std::move(energy), "gpu_power", batch_ns));
  }

  /// The counter's behaviour until the next read is unknown.
  void lose(std::string reason) {
    last_.reset();
    step_ns_.reset();
    set_unavailable(std::move(reason));
  }

  void take(std::int64_t value, double unit, std::int64_t now_ns) {
    const std::optional<double> grown = last_ ? growth(*last_, value) : std::optional(0.0);
    last_ = value;
    if (!grown) {
      // The counter restarted; unreported energy is lost.
      step_ns_.reset();
      set(*energy_, missing);
      set(*power_, missing);
      return;
    }
    joules_ += *grown * unit;
    set_renewing(*energy_, joules_, now_ns);
    if (*grown == 0) {
      return;
    }
    if (step_ns_ && now_ns > *step_ns_) {
      set(*power_, *grown * unit / (static_cast<double>(now_ns - *step_ns_) / 1e9));
    }
    step_ns_ = now_ns;
  }

  /// Nothing if a counter decreased, unless it is a 32-bit one that wrapped around.
  static std::optional<double> growth(std::int64_t from, std::int64_t to) {
    constexpr std::int64_t range = std::int64_t{1} << 32U;
    if (to >= from) {
      return static_cast<double>(to - from);
    }
    const bool has_wrapped = from < range && from >= range / 4 * 3 && to < range / 4;
    return has_wrapped ? std::optional(static_cast<double>(to + range - from)) : std::nullopt;
  }

  EnergyReportCalls calls_;
  std::optional<std::size_t> energy_;
  std::optional<std::size_t> power_;
  double joules_ = 0;  // since the first read
  std::optional<std::int64_t> last_;
  std::optional<std::int64_t> step_ns_;  // time of the counter's last step
};

}  // namespace

void make_energy_report_sensors(const EnergyReportCalls& calls, SensorList& list) {
  list.push_back(std::make_unique<EnergyReportSensor>(calls));
}

}  // namespace kymo::sense
