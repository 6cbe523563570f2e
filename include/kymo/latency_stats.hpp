// Percentiles, mean and standard deviation of samples held in memory.
//
//     const kymo::LatencyStats stats = kymo::LatencyStats::of(wall_times_us);   // stats.p95, also in microseconds
//
// Component kymo::analysis.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// The nearest-rank percentile of ascending samples: the one at index ceil(percentile / 100 * n) - 1. Percentiles up to
/// 0 give the first sample, from 100 on the last. 0 if there are no samples.
[[nodiscard]] KYMO_API double nearest_rank(const std::vector<double>& sorted, double percentile);

/// Statistics of samples, in the samples' unit. All zero if there are no samples.
struct LatencyStats {
  double p50 = 0;  ///< exact, by nearest rank; likewise the others
  double p95 = 0;
  double p99 = 0;
  double mean = 0;
  double std = 0;     ///< population standard deviation
  std::size_t n = 0;  ///< samples that are not NaN; NaN samples are ignored

  /// Sorts the samples: n log n.
  [[nodiscard]] KYMO_API static LatencyStats of(std::vector<double> samples);
  /// The same of the wall times of records, in microseconds: LatencyRecord and BaselineRecord of <kymo/bench.hpp>.
  template <typename Record, typename = decltype(Record::wall_time_us)>
  [[nodiscard]] static LatencyStats of(const std::vector<Record>& records) {
    std::vector<double> times_us;
    times_us.reserve(records.size());
    for (const Record& record : records) {
      times_us.push_back(record.wall_time_us);
    }
    return of(std::move(times_us));
  }
};

}  // namespace kymo
