#include "stats/explain/companions.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "stats/common/sample_tests.hpp"
#include "stats/paths/instance_values.hpp"

namespace kymo::stats {

namespace {

/// At most this false discovery rate.
constexpr double most_p = 0.01;
constexpr std::size_t least_values = 3;

Companion compare(MetricId metric, const MetricValues& values, const LookedAt& looked_at) {
  std::vector<double> slow;
  std::vector<double> usual;
  for (std::size_t i = 0; i < looked_at.instances.size(); ++i) {
    if (values.has(i)) {
      (looked_at.is_slow[i] ? slow : usual).push_back(values.mean(i));
    }
  }
  Companion companion;
  companion.metric = metric;
  if (slow.size() >= least_values && usual.size() >= least_values) {
    std::sort(slow.begin(), slow.end());
    std::sort(usual.begin(), usual.end());
    companion.slow = percentile_of(slow, 50);
    companion.usual = percentile_of(usual, 50);
    companion.p_value = mann_whitney(usual, slow).p_value;
  }
  return companion;
}

}  // namespace

std::vector<Companion> find_companions(const Timeline& timeline, const LookedAt& looked_at, std::size_t most) {
  const std::map<MetricId, MetricValues> values =
      read_instance_values(timeline, looked_at.instances,
                           // frame_ms is what is being explained.
                           [](const MetricDeclaration& metric) { return metric.name != "frame_ms"; });
  std::vector<Companion> companions;
  std::vector<double> p_values;
  for (const auto& [metric, of_metric] : values) {
    companions.push_back(compare(metric, of_metric, looked_at));
    p_values.push_back(companions.back().p_value);
  }
  const std::vector<double> corrected = correct_p_values(p_values);
  for (std::size_t i = 0; i < companions.size(); ++i) {
    companions[i].p_value = corrected[i];
  }
  companions.erase(std::remove_if(companions.begin(), companions.end(),
                                  [](const Companion& one) { return one.p_value > most_p || one.slow == one.usual; }),
                   companions.end());
  std::stable_sort(companions.begin(), companions.end(),
                   [](const Companion& a, const Companion& b) { return a.p_value < b.p_value; });
  companions.resize(std::min(companions.size(), most));
  return companions;
}

}  // namespace kymo::stats
