#include "stats/energy/thread_loads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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

void ThreadLoads::add(const ScopeRun& run) {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  if (!run.open_at_start.empty()) {
    first_ns = run.open_at_start.front().start_ns;
  } else if (!run.events.empty()) {
    first_ns = run.events.front().time_ns;
  } else {
    return;
  }
  const auto [place, is_new] = first_seen_ns_.try_emplace(run.track, first_ns);
  place->second = std::min(place->second, first_ns);
}

/// The stretches between samples. The one in which the thread was first seen starts there if no sample precedes it: the
/// thread's clock counts from its birth.
std::vector<ThreadLoads::Stretch> ThreadLoads::stretches_of(const MetricSeries& series, TrackId track) const {
  // Longer intervals were not sampled: the load is unknown, or the number had no thread.
  constexpr double longest_s = 10;
  // Clocks and samples are read shortly after one another.
  constexpr double most_load = 2;
  const auto seen = first_seen_ns_.find(track);
  std::vector<Stretch> stretches;
  const auto add = [&](std::int64_t start_ns, std::int64_t end_ns, double used_s, bool is_first) {
    const double seconds = seconds_between(start_ns, end_ns);
    // NaN fails the comparisons.
    const bool is_known = seconds < longest_s && used_s >= 0 && (is_first || used_s <= most_load * seconds);
    stretches.push_back({start_ns, seconds, std::min(used_s, seconds), is_known, is_first});
  };
  for (std::size_t i = 0; i < series.times_ns.size(); ++i) {
    const double grown = i == 0 ? 0 : series.values[i] - series.values[i - 1];
    const bool is_new_thread = i == 0 || grown < 0;
    if (is_new_thread && seen != first_seen_ns_.end() && seen->second < series.times_ns[i] &&
        (i == 0 || seen->second > series.times_ns[i - 1])) {
      add(seen->second, series.times_ns[i], series.values[i], true);
    } else if (i != 0) {
      add(series.times_ns[i - 1], series.times_ns[i], grown, false);
    }
  }
  return stretches;
}

std::vector<LoadChange> ThreadLoads::changes(std::int64_t shortest_ns) const {
  constexpr double scale = 1000;
  std::vector<LoadChange> changes;
  for (const auto& [metric, thread] : threads_) {
    for (const TrackId track : thread.tracks) {
      const std::vector<Stretch> stretches = stretches_of(thread.series, track);
      Weight last = unknown;
      for (std::size_t i = 0; i < stretches.size(); ++i) {
        const Stretch& stretch = stretches[i];
        const double part_s = std::min(static_cast<double>(shortest_ns) / 1e9, stretch.seconds);
        // A part that reaches into the neighbours may contain their CPU time as well.
        double used_s = 0;
        double idle_s = 0;
        for (const std::size_t near : {i - 1, i, i + 1}) {
          const bool is_known = near < stretches.size() && stretches[near].is_known;
          used_s += is_known ? stretches[near].used_s : part_s;
          idle_s += is_known && !stretches[near].is_first ? stretches[near].seconds - stretches[near].used_s : part_s;
        }
        last = unknown;
        if (stretch.is_known && part_s > 0) {
          const double likely = std::clamp(std::round(scale * stretch.used_s / stretch.seconds), 1.0, scale);
          last.likely = static_cast<std::int32_t>(likely);
          last.least = static_cast<std::int32_t>(std::clamp(std::floor(scale * (1 - idle_s / part_s)), 0.0, likely));
          last.most = static_cast<std::int32_t>(std::clamp(std::ceil(scale * used_s / part_s), likely, scale));
        }
        changes.push_back({stretch.start_ns, track, last});
      }
      if (!thread.series.times_ns.empty()) {
        // Nothing says what it did after its last sample; probably the same.
        changes.push_back({thread.series.times_ns.back(), track, {last.likely, unknown.least, unknown.most}});
      }
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const LoadChange& a, const LoadChange& b) { return a.time_ns < b.time_ns; });
  return changes;
}

}  // namespace kymo::stats
