// Percentiles, mean and spread of samples that are all at hand.
//
//     const kymo::LatencyStats stats = kymo::LatencyStats::of(wall_times_us);   // stats.p95, in microseconds as well
//
// Component kymo::analysis.
#pragma once

#include <cstddef>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// The nearest-rank percentile of ascending samples: that of index ceil(percentile / 100 * n) - 1, the first one for
/// percentiles up to 0, the last one from 100 on; 0 for no samples.
[[nodiscard]] KYMO_API double nearest_rank(const std::vector<double>& sorted, double percentile);

/// What samples amount to, in their own unit. All zero for no samples.
struct LatencyStats {
  double p50 = 0;  ///< exact, by nearest rank, as are the others
  double p95 = 0;
  double p99 = 0;
  double mean = 0;
  double std = 0;     ///< population standard deviation
  std::size_t n = 0;  ///< samples that are numbers; others do not count

  /// Sorts the samples: n log n.
  [[nodiscard]] KYMO_API static LatencyStats of(std::vector<double> samples);
};

}  // namespace kymo
