// Collects the samples of a metric, which come run by run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::timeline {

/// Appends the samples of a run for whose time is_wanted(time_ns) holds.
template <typename IsWanted>
void append_samples(const SampleRun& run, const IsWanted& is_wanted, MetricSeries& series) {
  for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
    if (is_wanted(run.times_ns[i])) {
      series.times_ns.push_back(run.times_ns[i]);
      series.values.push_back(run.values[i]);
      series.flags.push_back(i < run.flags.size() ? run.flags[i] : std::uint8_t{0});
    }
  }
}

/// Samples of one time stay in their order.
inline void sort_by_time(MetricSeries& series) {
  if (std::is_sorted(series.times_ns.begin(), series.times_ns.end())) {
    return;
  }
  std::vector<std::size_t> order(series.times_ns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&series](std::size_t a, std::size_t b) { return series.times_ns[a] < series.times_ns[b]; });
  MetricSeries sorted;
  for (const std::size_t i : order) {
    sorted.times_ns.push_back(series.times_ns[i]);
    sorted.values.push_back(series.values[i]);
    sorted.flags.push_back(series.flags[i]);
  }
  series = std::move(sorted);
}

}  // namespace kymo::timeline
