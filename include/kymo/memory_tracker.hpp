// Snapshots of the process's memory, taken on request, with the caller's own figures for caches and buffers.
//
//     kymo::MemoryTracker memory("baseline");
//     for (...) { step(); memory.snapshot({cache.bytes(), activations.bytes()}); }
//     const kymo::MemoryReport report = memory.report();
//
// Component kymo::sense.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <kymo/export.hpp>

namespace kymo {

/// Memory figures supplied by the caller.
struct MemoryParts {
  std::uint64_t kv_cache_bytes = 0;
  std::uint64_t activation_bytes = 0;
  std::uint64_t temp_buffer_bytes = 0;
};

/// The first two are named as in ruvector-profiler, whose files have them too.
struct MemorySnapshot {
  std::int64_t timestamp_us = 0;     ///< microseconds since 1970
  std::uint64_t peak_rss_bytes = 0;  ///< resident memory at that time, in spite of the name; 0: could not be read
  MemoryParts parts;
  std::int64_t monotonic_ns = 0;         ///< CLOCK_MONOTONIC, the clock of captures
  std::uint64_t process_peak_bytes = 0;  ///< largest resident memory since the process began; never less than the above
};

/// Means and sums over snapshots; all zero if there are none.
struct MemoryReport {
  std::string label;
  std::uint64_t peak_rss = 0;  ///< bytes: the largest of the snapshots
  double mean_rss = 0;         ///< bytes
  std::uint64_t kv_cache_total = 0;
  std::uint64_t activation_total = 0;
  std::uint64_t temp_buffer_total = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t process_peak = 0;  ///< bytes: the largest since the process began, also between snapshots
};

/// Collects snapshots, 56 bytes each. Not thread-safe.
class KYMO_API MemoryTracker {
 public:
  explicit MemoryTracker(std::string label) : label_(std::move(label)) {}

  /// Reads the process's memory from /proc/self and adds a snapshot. Some microseconds.
  MemorySnapshot snapshot(const MemoryParts& parts = {});

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::vector<MemorySnapshot>& snapshots() const { return snapshots_; }
  [[nodiscard]] MemoryReport report() const;

 private:
  std::string label_;
  std::vector<MemorySnapshot> snapshots_;
};

}  // namespace kymo
