// A capture as Python holds it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include <kymo/timeline.hpp>

namespace kymo::python {

/// A timeline that no longer changes. What is read of it agrees with what was read of it before.
using Snapshot = std::shared_ptr<const Timeline>;

/// Captures that may grow. Thread safe.
class Reader {
 public:
  explicit Reader(std::vector<std::string> paths, TimelineOptions options);

  [[nodiscard]] Snapshot snapshot() const;
  /// Whether anything was appended. Snapshots that are still held stay as they are; while there are any, the files are
  /// opened anew.
  bool refresh();

 private:
  std::vector<std::string> paths_;
  TimelineOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<Timeline> timeline_;
};

/// What stands for a snapshot in Python.
struct SnapshotHandle {
  Snapshot timeline;
};

/// What can be asked of a snapshot besides its tables: statistics, energy.
void add_statistics(nanobind::class_<SnapshotHandle>& snapshot);

}  // namespace kymo::python
