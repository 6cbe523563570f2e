// The captures of single processes under one `kymo record`, until they are merged.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/system/file.hpp"
#include "capture/merge/merge.hpp"

namespace kymo::command {

/// The private directory next to the output into which processes record. Deleted with its content unless it is kept.
/// Locked while its `kymo record` is alive.
class PartsDirectory {
 public:
  /// Creates one. Throws Failure.
  explicit PartsDirectory(const std::string& output);
  PartsDirectory(const PartsDirectory&) = delete;
  PartsDirectory& operator=(const PartsDirectory&) = delete;
  ~PartsDirectory();

  void keep() { is_kept_ = true; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  base::FileDescriptor lock_;
  bool is_kept_ = false;
};

/// The recordings of processes and their states.
struct Parts {
  std::vector<std::string> captures;
  std::vector<std::string> spool_ids;      ///< of ended processes
  std::vector<std::string> being_written;  ///< captures of processes that are still running
  std::vector<std::string> complaints;
};

[[nodiscard]] Parts look_at_parts(const std::string& directory);

/// Merges the parts into the output, together with their remains in shared memory or saved in the directory.
capture::MergeReport gather_parts(const Parts& parts, const std::string& directory, const std::string& output,
                                  std::vector<capture::MergeOptions::Facts> facts,
                                  std::vector<std::string>& complaints);

/// Deletes the shared memory of ended processes, whose content has been merged.
void remove_spools(const Parts& parts);

/// Directories of parts next to an output that a `kymo record` did not get to merge.
[[nodiscard]] std::vector<std::string> find_left_parts(const std::string& output);

/// The result of joining leftover parts.
struct JoinedParts {
  capture::MergeReport merge;
  std::size_t recordings = 0;
  std::vector<std::string> complaints;
};

/// Merges leftover parts into the output, or into a new file next to it if that exists, and deletes them. Throws
/// Failure and changes nothing if their `kymo record` or a process is still writing.
[[nodiscard]] JoinedParts join_left_parts(const std::string& directory, const std::string& output, bool keeps_parts);

}  // namespace kymo::command
