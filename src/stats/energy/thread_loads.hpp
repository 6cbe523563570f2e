// CPU load of each thread over time; concurrent threads share power by it. Computed from the metric thread_cpu_time
// (seconds of CPU time since a thread's start, with the kernel's thread number as label `thread`).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/energy/energy_sharing.hpp"

namespace kymo::stats {

/// From a time on, a thread uses this share of a core, in thousandths.
struct LoadChange {
  std::int64_t time_ns = 0;
  TrackId track;
  Weight load;
};

class ThreadLoads {
 public:
  /// A thread without CPU-time samples counts as fully busy, and may as well have slept.
  static constexpr Weight unknown{1000, 0, 1000};

  explicit ThreadLoads(const Timeline& timeline) : ThreadLoads(timeline.declarations()) {}
  explicit ThreadLoads(const Declarations& declared);

  /// Adds samples of any metric; those of other metrics are ignored.
  void add(const SampleRun& run);
  /// Notes when a thread was first seen.
  void add(const ScopeRun& run);

  /// Every change of load, by ascending time. Between two samples the likely load is the mean over that time; in the
  /// first stretch it is the mean since the thread was first seen, since its clock starts at its birth. It is never 0,
  /// so that threads that all wait still share the energy of their scopes. A part of a stretch may have another load:
  /// `shortest_ns` is the length of the shortest part for which `least` and `most` are to hold.
  [[nodiscard]] std::vector<LoadChange> changes(std::int64_t shortest_ns) const;

 private:
  /// A time in which a thread's CPU time grew by `used_s`.
  struct Stretch {
    std::int64_t start_ns = 0;
    double seconds = 0;
    double used_s = 0;
    bool is_known = false;
    bool is_first = false;  ///< the thread may have used its CPU time before it
  };
  struct Thread {
    std::vector<TrackId> tracks;  ///< tracks that have had this thread number, one after the other
    MetricSeries series;
  };

  [[nodiscard]] std::vector<Stretch> stretches_of(const MetricSeries& series, TrackId track) const;

  std::unordered_map<MetricId, Thread> threads_;
  std::unordered_map<TrackId, std::int64_t> first_seen_ns_;
};

}  // namespace kymo::stats
