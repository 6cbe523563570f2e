// Memory of a program at moments of its choosing, with what it knows itself of its caches and buffers.
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

/// What the caller knows of its memory.
struct MemoryParts {
  std::uint64_t kv_cache_bytes = 0;
  std::uint64_t activation_bytes = 0;
  std::uint64_t temp_buffer_bytes = 0;
};

struct MemorySnapshot {
  std::int64_t timestamp_us = 0;     ///< CLOCK_MONOTONIC
  std::uint64_t rss_bytes = 0;       ///< resident now; 0: could not be read
  std::uint64_t peak_rss_bytes = 0;  ///< most that was resident since the process began; never less than rss_bytes
  MemoryParts parts;
};

/// Means and sums over snapshots; all zero for none.
struct MemoryReport {
  std::string label;
  std::uint64_t peak_rss = 0;  ///< bytes: the greatest of the snapshots' peaks
  double mean_rss = 0;         ///< bytes
  std::uint64_t kv_cache_total = 0;
  std::uint64_t activation_total = 0;
  std::uint64_t temp_buffer_total = 0;
  std::uint64_t snapshots = 0;
};

/// Collects snapshots, 48 bytes each. One thread at a time.
class KYMO_API MemoryTracker {
 public:
  explicit MemoryTracker(std::string label) : label_(std::move(label)) {}

  /// Takes the process's memory from /proc/self, some microseconds.
  MemorySnapshot snapshot(const MemoryParts& parts = {});

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::vector<MemorySnapshot>& snapshots() const { return snapshots_; }
  [[nodiscard]] MemoryReport report() const;

 private:
  std::string label_;
  std::vector<MemorySnapshot> snapshots_;
};

}  // namespace kymo
