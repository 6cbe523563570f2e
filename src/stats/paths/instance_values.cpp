#include "stats/paths/instance_values.hpp"

#include <algorithm>
#include <cmath>

#include <kymo/batch_cursor.hpp>

#include "stats/paths/instances.hpp"

namespace kymo::stats {

namespace {

/// Instances that overlap are looked for among so many that began before.
constexpr std::size_t most_overlapping = 64;

class Sampling {
 public:
  explicit Sampling(const std::vector<Instance>& instances) : instances_(instances) {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      by_end_.emplace_back(instances_[i].end_ns(), i);
    }
    std::sort(by_end_.begin(), by_end_.end());
  }

  void take(const MetricDeclaration& metric, MetricValues& values, std::int64_t time_ns, double sample) {
    double value = sample;
    if (metric.kind != MetricKind::gauge) {
      const double seconds = static_cast<double>(time_ns - values.last_ns) / 1e9;
      const bool grew = values.has_last && seconds > 0 && sample >= values.last;
      value = grew ? (sample - values.last) / seconds : std::nan("");
    }
    if (!std::isnan(value)) {
      spread(values, time_ns, value);
    }
    // Of several threads' samples some are a block late.
    if (!values.has_last || time_ns >= values.last_ns) {
      values.last_ns = time_ns;
      values.last = sample;
      values.has_last = true;
    }
  }

 private:
  void spread(MetricValues& values, std::int64_t time_ns, double value) const {
    auto next = std::lower_bound(instances_.begin(), instances_.end(), time_ns,
                                 [](const Instance& one, std::int64_t time) { return one.start_ns < time; });
    for (std::size_t looked = 0; next != instances_.begin() && looked < most_overlapping; ++looked) {
      --next;
      if (next->end_ns() >= time_ns) {
        values.add(static_cast<std::size_t>(next - instances_.begin()), value);
      }
    }
    // Instances without a sample that ended since the one before.
    auto ended = std::upper_bound(by_end_.begin(), by_end_.end(), std::pair(values.last_ns, instances_.size()));
    for (; values.has_last && ended != by_end_.end() && ended->first < time_ns; ++ended) {
      if (!values.has(ended->second)) {
        values.add(ended->second, value);
      }
    }
  }

  const std::vector<Instance>& instances_;
  std::vector<std::pair<std::int64_t, std::size_t>> by_end_;
};

}  // namespace

std::map<MetricId, MetricValues> read_instance_values(const Timeline& timeline, const std::vector<Instance>& instances,
                                                      const std::function<bool(const MetricDeclaration&)>& is_chosen) {
  Sampling sampling(instances);
  std::map<MetricId, MetricValues> values;
  BatchCursor cursor(timeline, {}, BatchParts::samples);
  for (EventBatch batch; cursor.next(batch);) {
    for (const SampleRun& run : batch.samples) {
      const MetricDeclaration& declared = timeline.metric(run.metric);
      if (!declared.process || !is_chosen(declared)) {
        continue;
      }
      MetricValues& of_metric = values.try_emplace(run.metric, instances.size()).first->second;
      for (std::size_t i = 0; i < std::min(run.times_ns.size(), run.values.size()); ++i) {
        if (!std::isnan(run.values[i]) && is_usable_time(run.times_ns[i])) {
          sampling.take(declared, of_metric, run.times_ns[i], run.values[i]);
        }
      }
    }
  }
  return values;
}

}  // namespace kymo::stats
