// CPU load of a Mac: host_processor_info() counts ticks of 10 ms per core.
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "sense/macos/calls.hpp"

namespace kymo::sense {

namespace {

class MachCpuSensor final : public Sensor {
 public:
  explicit MachCpuSensor(MachCalls calls) : Sensor("cpu", Tier::medium, Cost::kernel), calls_(std::move(calls)) {
    MetricDeclaration all = share(0);
    all.traits = MetricDeclaration::total;
    all_ = add_metric(std::move(all));
  }

 private:
  static constexpr std::int64_t tick_ns = 10'000'000;
  // With fewer ticks a share would jump by tens of percent.
  static constexpr std::int64_t least_window_ns = 95'000'000;
  // More than a core can tick between two reads: the counter restarted.
  static constexpr std::uint32_t most_growth = std::uint32_t{1} << 31U;

  struct Core {
    std::size_t metric = 0;
    std::optional<MachCoreTicks> last;
  };

  static MetricDeclaration share(double step) {
    MetricDeclaration declaration = describe("cpu_util", "%", "host_processor_info", MetricKind::gauge, step);
    declaration.renewal_ns = tick_ns;
    return declaration;
  }

  void read_source(std::int64_t now_ns) override {
    if (read_ns_ && now_ns - *read_ns_ < least_window_ns) {
      return;
    }
    std::vector<MachCoreTicks> ticks;
    if (std::string reason = calls_.core_ticks(ticks); !reason.empty() || ticks.empty()) {
      for (Core& core : cores_) {
        core.last.reset();
      }
      set_unavailable(reason.empty() ? "host_processor_info names no cores" : std::move(reason));
      return;
    }
    add_cores(ticks.size());
    double busy = 0;
    double whole = 0;
    bool has_all = true;
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      Core& core = cores_[i];
      if (i >= ticks.size()) {
        core.last.reset();
        set(core.metric, missing);
        continue;
      }
      double core_busy = 0;
      double core_whole = 0;
      const bool is_known = core.last && take_growth(*core.last, ticks[i], core_busy, core_whole);
      set(core.metric, is_known ? percent(core_busy, core_whole) : missing);
      has_all = has_all && is_known;
      busy += core_busy;
      whole += core_whole;
      core.last = ticks[i];
    }
    set(all_, has_all ? percent(busy, whole) : missing);
    read_ns_ = now_ns;
  }

  void add_cores(std::size_t count) {
    while (cores_.size() < count) {
      MetricDeclaration declaration = share(0);
      declaration.labels = {{"core", std::to_string(cores_.size())}};
      cores_.push_back({add_metric(std::move(declaration)), std::nullopt});
    }
  }

  /// 32-bit differences are correct across a wrap. False if a counter decreased.
  static bool take_growth(const MachCoreTicks& from, const MachCoreTicks& to, double& busy, double& whole) {
    const std::uint32_t user = to.user - from.user;
    const std::uint32_t system = to.system - from.system;
    const std::uint32_t nice = to.nice - from.nice;
    const std::uint32_t idle = to.idle - from.idle;
    for (const std::uint32_t growth : {user, system, nice, idle}) {
      if (growth >= most_growth) {
        return false;
      }
    }
    busy = static_cast<double>(user) + static_cast<double>(system) + static_cast<double>(nice);
    whole = busy + static_cast<double>(idle);
    return true;
  }

  MachCalls calls_;
  std::size_t all_ = 0;
  std::vector<Core> cores_;
  std::optional<std::int64_t> read_ns_;
};

}  // namespace

void make_mach_cpu_sensors(const MachCalls& calls, SensorList& list) {
  list.push_back(std::make_unique<MachCpuSensor>(calls));
}

}  // namespace kymo::sense
