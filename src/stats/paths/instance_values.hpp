// Values of metrics in instances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <kymo/explain.hpp>
#include <kymo/timeline.hpp>

namespace kymo::stats {

/// The values of a metric in each instance.
class MetricValues {
 public:
  explicit MetricValues(std::size_t instances) : sums_(instances) {}

  void add(std::size_t instance, double value) {
    sums_[instance].first += value;
    ++sums_[instance].second;
  }
  [[nodiscard]] bool has(std::size_t instance) const { return sums_[instance].second != 0; }
  [[nodiscard]] double mean(std::size_t instance) const {
    return sums_[instance].first / static_cast<double>(sums_[instance].second);
  }

  // Of the sample before; the time is that of the first sample until there is one.
  std::int64_t last_ns = 0;
  double last = 0;
  bool has_last = false;

 private:
  std::vector<std::pair<double, std::uint32_t>> sums_;
};

/// Reads the chosen metrics of processes. An instance's value is the mean of the samples in it, else the next sample;
/// of counters, what they grew by per second. Instances ascend by start. One pass over the samples; memory: 24 bytes
/// for each metric and instance.
[[nodiscard]] std::map<MetricId, MetricValues> read_instance_values(
    const Timeline& timeline, const std::vector<Instance>& instances,
    const std::function<bool(const MetricDeclaration&)>& is_chosen);

}  // namespace kymo::stats
