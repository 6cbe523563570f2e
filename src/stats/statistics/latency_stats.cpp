// Percentiles, mean and standard deviation of samples held in memory.
#include <kymo/latency_stats.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kymo {

double nearest_rank(const std::vector<double>& sorted, double percentile) {
  if (sorted.empty()) {
    return 0;
  }
  const auto count = static_cast<double>(sorted.size());
  // A percentile such as 99.9 is not exact in binary; one unit less keeps 0.999 * 1000 from being rounded up.
  const double rank = std::ceil(std::nextafter(percentile, 0.0) / 100 * count);
  if (!(rank > 1)) {
    return sorted.front();
  }
  return rank >= count ? sorted.back() : sorted[static_cast<std::size_t>(rank) - 1];
}

LatencyStats LatencyStats::of(std::vector<double> samples) {
  std::erase_if(samples, [](double sample) { return std::isnan(sample); });
  LatencyStats stats;
  if (samples.empty()) {
    return stats;
  }
  std::sort(samples.begin(), samples.end());
  stats.n = samples.size();
  stats.p50 = nearest_rank(samples, 50);
  stats.p95 = nearest_rank(samples, 95);
  stats.p99 = nearest_rank(samples, 99);
  const auto count = static_cast<double>(stats.n);
  stats.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  // Subtracts the rounding error of the mean from the squares.
  double squares = 0;
  double rest = 0;
  for (const double sample : samples) {
    const double off = sample - stats.mean;
    squares += off * off;
    rest += off;
  }
  stats.std = std::sqrt(std::max(0.0, (squares - rest * rest / count) / count));
  return stats;
}

}  // namespace kymo
