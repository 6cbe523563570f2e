// GPUs of a Mac by the PerformanceStatistics that their drivers publish in the I/O registry. The available numbers
// differ between drivers and releases.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "sense/macos/calls.hpp"

namespace kymo::sense {

namespace {

/// A metric and its names in various drivers, the best one first.
struct Statistic {
  std::string_view metric;
  std::string_view unit;
  std::array<std::string_view, 2> names;
  double most = 0;  ///< values above are nonsense; 0: accepts any non-negative value
};

constexpr std::array statistics{
    Statistic{"gpu_util", "%", {"Device Utilization %", "GPU Activity(%)"}, 100},
    // The shading stage; vertices are the tiler's.
    Statistic{"gpu_sm", "%", {"Renderer Utilization %"}, 100},
    Statistic{"gpu_mem", "B", {"In use system memory", "vramUsedBytes"}},
};

class AcceleratorSensor final : public Sensor {
 public:
  explicit AcceleratorSensor(AcceleratorCalls calls) : Sensor("apple_gpu", Tier::fast), calls_(std::move(calls)) {}

 private:
  using Metrics = std::array<std::optional<std::size_t>, statistics.size()>;  // of those that have been seen

  void read_source(std::int64_t now_ns) override {
    std::vector<AcceleratorStatistics> found;
    if (std::string reason = calls_.statistics(found); !reason.empty() || found.empty()) {
      set_unavailable(reason.empty() ? "the I/O registry has no IOAccelerator with PerformanceStatistics"
                                     : std::move(reason));
      return;
    }
    if (gpus_.size() < found.size()) {
      gpus_.resize(found.size());
    }
    std::string lacking;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      for (std::size_t k = 0; k < statistics.size(); ++k) {
        const auto number = i < found.size() ? number_of(found[i], statistics[k]) : std::nullopt;
        std::optional<std::size_t>& metric = gpus_[i][k];
        if (!metric && number) {
          metric = add(i, found[i], statistics[k], number->first);
        }
        const double value = number ? number->second : missing;
        const bool is_sound = value >= 0 && (statistics[k].most == 0 || value <= statistics[k].most);
        if (is_sound) {
          set_renewing(*metric, value, now_ns);
        } else if (metric) {
          set(*metric, missing);
        }
        if (!is_sound) {
          lacking.append(lacking.empty() ? "" : ", ").append(statistics[k].metric);
        }
      }
    }
    if (lacking.empty()) {
      clear_trouble();
    } else if (lacking != lacking_) {
      set_trouble("the GPU's driver publishes no sound number for " + lacking);
    }
    lacking_ = std::move(lacking);
  }

  std::size_t add(std::size_t index, const AcceleratorStatistics& gpu, const Statistic& statistic,
                  std::string_view name) {
    return add_metric(describe(statistic.metric, statistic.unit,
                               "IOAccelerator PerformanceStatistics: " + std::string(name), MetricKind::gauge, 1,
                               {{"gpu", std::to_string(index)}, {"device", gpu.model}}));
  }

  static std::optional<std::pair<std::string_view, double>> number_of(const AcceleratorStatistics& gpu,
                                                                      const Statistic& statistic) {
    for (const std::string_view name : statistic.names) {
      for (const auto& [key, number] : gpu.numbers) {
        if (!name.empty() && key == name) {
          return std::pair(name, static_cast<double>(number));
        }
      }
    }
    return std::nullopt;
  }

  AcceleratorCalls calls_;
  std::vector<Metrics> gpus_;
  std::string lacking_;
};

}  // namespace

void make_accelerator_sensors(const AcceleratorCalls& calls, SensorList& list) {
  list.push_back(std::make_unique<AcceleratorSensor>(calls));
}

}  // namespace kymo::sense
