#include <kymo/memory_tracker.hpp>

#include <algorithm>
#include <chrono>

#include "base/system/clock.hpp"
#include "base/system/system.hpp"

namespace kymo {

MemorySnapshot MemoryTracker::snapshot(const MemoryParts& parts) {
  MemorySnapshot snapshot;
  using std::chrono::duration_cast;
  snapshot.timestamp_us =
      duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  snapshot.monotonic_ns = base::monotonic_now_ns();
  snapshot.peak_rss_bytes = base::resident_bytes();
  // The two come from counters of different accuracy, so the current size may exceed the peak.
  snapshot.process_peak_bytes = std::max(base::peak_resident_bytes(), snapshot.peak_rss_bytes);
  snapshot.parts = parts;
  snapshots_.push_back(snapshot);
  return snapshot;
}

MemoryReport MemoryTracker::report() const {
  MemoryReport report;
  report.label = label_;
  report.snapshots = snapshots_.size();
  double rss_sum = 0;
  for (const MemorySnapshot& snapshot : snapshots_) {
    report.peak_rss = std::max(report.peak_rss, snapshot.peak_rss_bytes);
    report.process_peak = std::max(report.process_peak, snapshot.process_peak_bytes);
    rss_sum += static_cast<double>(snapshot.peak_rss_bytes);
    report.kv_cache_total += snapshot.parts.kv_cache_bytes;
    report.activation_total += snapshot.parts.activation_bytes;
    report.temp_buffer_total += snapshot.parts.temp_buffer_bytes;
  }
  report.mean_rss = snapshots_.empty() ? 0 : rss_sum / static_cast<double>(snapshots_.size());
  return report;
}

}  // namespace kymo
