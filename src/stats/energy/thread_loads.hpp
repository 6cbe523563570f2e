// CPU load of each thread over time; concurrent threads share power by it. Computed from the metric thread_cpu_time
// (seconds of CPU time since a thread's start, with the kernel's thread number as label `thread`).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::stats {

/// From a time on, a thread uses this share of a core.
struct LoadChange {
  std::int64_t time_ns = 0;
  TrackId track = 0;
  std::uint32_t load = 0;
};

class ThreadLoads {
 public:
  /// A whole core. A thread without CPU-time samples counts as fully busy.
  static constexpr std::uint32_t full = 1000;

  explicit ThreadLoads(const Timeline& timeline) : ThreadLoads(timeline.declarations()) {}
  explicit ThreadLoads(const Declarations& declared);

  /// Adds samples of any metric; those of other metrics are ignored.
  void add(const SampleRun& run);

  /// Every change of load, by ascending time. Between two samples the load is the mean over that time. It is never 0,
  /// so that threads that all wait still share the energy of their scopes.
  [[nodiscard]] std::vector<LoadChange> changes() const;

 private:
  struct Thread {
    std::vector<TrackId> tracks;  ///< tracks that have had this thread number, one after the other
    MetricSeries series;
  };

  std::unordered_map<MetricId, Thread> threads_;
};

}  // namespace kymo::stats
