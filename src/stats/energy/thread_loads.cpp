#include "stats/energy/thread_loads.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace kymo::stats {

ThreadLoads::ThreadLoads(const Declarations& declared) {
  for (const MetricDeclaration& metric : declared.metrics) {
    if (metric.name != "thread_cpu_time" || metric.labels.size() != 1 || metric.labels.front().first != "thread") {
      continue;
    }
    std::vector<TrackId> tracks;
    for (const TrackDeclaration& track : declared.tracks) {
      if (track.kind == TrackKind::thread && track.process == metric.process &&
          std::to_string(track.os_thread_id) == metric.labels.front().second) {
        tracks.push_back(track.id);
      }
    }
    if (!tracks.empty()) {
      threads_[metric.id].tracks = std::move(tracks);
    }
  }
}

void ThreadLoads::add(const SampleRun& run) {
  const auto found = threads_.find(run.metric);
  if (found == threads_.end()) {
    return;
  }
  MetricSeries& series = found->second.series;
  for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
    // Samples of one metric come from one thread, in order; others are damaged.
    if (series.times_ns.empty() || run.times_ns[i] > series.times_ns.back()) {
      series.times_ns.push_back(run.times_ns[i]);
      series.values.push_back(run.values[i]);
    }
  }
}

std::vector<LoadChange> ThreadLoads::changes() const {
  // Longer intervals were not sampled: the thread counts as busy, or the number had no thread.
  constexpr double longest_s = 10;
  std::vector<LoadChange> changes;
  for (const auto& [metric, thread] : threads_) {
    const MetricSeries& series = thread.series;
    for (std::size_t i = 0; i < series.times_ns.size(); ++i) {
      std::uint32_t load = full;
      if (i + 1 < series.times_ns.size()) {
        const double seconds = static_cast<double>(series.times_ns[i + 1] - series.times_ns[i]) / 1e9;
        const double share = (series.values[i + 1] - series.values[i]) / seconds;
        // A decrease means another thread; NaN fails both comparisons.
        const bool is_known = seconds < longest_s && share >= 0 && share <= 2;
        load = is_known ? static_cast<std::uint32_t>(std::clamp(std::lround(share * full), 1L, long{full})) : full;
      }
      for (const TrackId track : thread.tracks) {
        changes.push_back({series.times_ns[i], track, load});
      }
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const LoadChange& a, const LoadChange& b) { return a.time_ns < b.time_ns; });
  return changes;
}

}  // namespace kymo::stats
