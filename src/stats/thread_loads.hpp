// How much of a core each thread used over time: what threads that run together share power by. From the metric
// thread_cpu_time (seconds of CPU time since a thread's start, label `thread`: the kernel's number of it).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::stats {

/// From a time on, a thread uses so much of a core.
struct LoadChange {
  std::int64_t time_ns = 0;
  TrackId track = 0;
  std::uint32_t load = 0;
};

class ThreadLoads {
 public:
  /// A whole core. Also what is taken for a thread while nothing was measured of it.
  static constexpr std::uint32_t full = 1000;

  explicit ThreadLoads(const Timeline& timeline) : ThreadLoads(timeline.declarations()) {}
  explicit ThreadLoads(const Declarations& declared);

  /// Takes samples of any metric; those of others are left alone.
  void add(const SampleRun& run);

  /// Every change of load by ascending time. Between two samples a load is the mean of the time between them; it is
  /// never 0, so that threads which all wait still share what their scopes took.
  [[nodiscard]] std::vector<LoadChange> changes() const;

 private:
  struct Thread {
    std::vector<TrackId> tracks;  ///< one after the other may have had its number
    MetricSeries series;
  };

  std::unordered_map<MetricId, Thread> threads_;
};

}  // namespace kymo::stats
