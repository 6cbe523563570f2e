#include <kymo/memory_tracker.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "sense/parse.hpp"
#include "sense/source_file.hpp"

namespace kymo {

namespace {

/// Opened anew each time: a descriptor of /proc/self kept over fork would go on to tell of the parent.
std::uint64_t resident_bytes() {
  sense::SourceFile file("/proc/self/statm", 256);
  sense::TextCursor text(file.read());
  text.word();
  static const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return text.number().value_or(0) * static_cast<std::uint64_t>(page_bytes);
}

std::uint64_t peak_resident_bytes() {
  sense::SourceFile file("/proc/self/status", 8192);
  sense::TextCursor text(file.read());
  while (!text.at_end()) {
    sense::TextCursor line(text.line());
    if (line.skip("VmHWM:")) {
      const std::optional<std::uint64_t> kilobytes = line.number();
      if (kilobytes) {
        return *kilobytes * 1024;
      }
    }
  }
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace

MemorySnapshot MemoryTracker::snapshot(const MemoryParts& parts) {
  MemorySnapshot snapshot;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  snapshot.timestamp_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  snapshot.rss_bytes = resident_bytes();
  // The kernel adds up the one more exactly than the other.
  snapshot.peak_rss_bytes = std::max(peak_resident_bytes(), snapshot.rss_bytes);
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
