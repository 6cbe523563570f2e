#include <kymo/memory_tracker.hpp>

#include <algorithm>

#include "base/system/clock.hpp"
#include "base/system/system.hpp"

namespace kymo {

MemorySnapshot MemoryTracker::snapshot(const MemoryParts& parts) {
  MemorySnapshot snapshot;
  snapshot.timestamp_us = base::monotonic_now_ns() / 1000;
  snapshot.rss_bytes = base::resident_bytes();
  // The two come from counters of different accuracy, so the current size may exceed the peak.
  snapshot.peak_rss_bytes = std::max(base::peak_resident_bytes(), snapshot.rss_bytes);
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
    rss_sum += static_cast<double>(snapshot.rss_bytes);
    report.kv_cache_total += snapshot.parts.kv_cache_bytes;
    report.activation_total += snapshot.parts.activation_bytes;
    report.temp_buffer_total += snapshot.parts.temp_buffer_bytes;
  }
  report.mean_rss = snapshots_.empty() ? 0 : rss_sum / static_cast<double>(snapshots_.size());
  return report;
}

}  // namespace kymo
