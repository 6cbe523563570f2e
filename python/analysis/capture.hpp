// Captures in Python.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <kymo/timeline.hpp>

namespace kymo::python {

/// A timeline that does not change any more, so all reads from it are consistent.
using Snapshot = std::shared_ptr<const Timeline>;

/// Captures that may grow. Thread safe.
class Reader {
 public:
  explicit Reader(std::vector<std::string> paths, TimelineOptions options);

  [[nodiscard]] Snapshot snapshot() const;
  /// Returns whether anything was appended. Snapshots in use stay unchanged; while there are any, the files are
  /// reopened.
  bool refresh();

 private:
  std::vector<std::string> paths_;
  TimelineOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<Timeline> timeline_;
};

/// A snapshot in Python.
struct SnapshotHandle {
  Snapshot timeline;
};

/// Adds a snapshot's functions besides its tables: statistics, energy, explanations.
void add_statistics(nanobind::class_<SnapshotHandle>& snapshot);
void add_functions(nanobind::class_<SnapshotHandle>& snapshot);
void add_thread_activity(nanobind::class_<SnapshotHandle>& snapshot);
void add_explanations(nanobind::class_<SnapshotHandle>& snapshot);

}  // namespace kymo::python
