// What the processes of one `kymo record` recorded, each into a capture of its own, until it is one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "capture/merge.hpp"

namespace kymo::command {

/// The private directory that processes record into, next to the output. Removed with what is in it unless it is kept.
/// Locked as long as its `kymo record` lives.
class PartsDirectory {
 public:
  /// Makes one. Failure.
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

/// What processes recorded, and what became of them.
struct Parts {
  std::vector<std::string> captures;
  std::vector<std::string> spool_ids;      ///< of processes that are gone
  std::vector<std::string> being_written;  ///< captures whose process goes on
  std::vector<std::string> complaints;
};

[[nodiscard]] Parts look_at_parts(const std::string& directory);

/// Merges the parts into the output, with what is left of them in shared memory or was saved to the directory.
capture::MergeReport gather_parts(const Parts& parts, const std::string& directory, const std::string& output,
                                  std::vector<capture::MergeOptions::Facts> facts,
                                  std::vector<std::string>& complaints);

/// Deletes the shared memory of the processes that are gone: what was in it is in the merge.
void remove_spools(const Parts& parts);

/// Directories of parts beside an output whose `kymo record` did not come to put them together.
[[nodiscard]] std::vector<std::string> find_left_parts(const std::string& output);

/// What became of left parts.
struct JoinedParts {
  capture::MergeReport merge;
  std::size_t recordings = 0;
  std::vector<std::string> complaints;
};

/// Puts left parts together in the output, or a new file beside it where that exists, and removes them. Failure where
/// their `kymo record` or a process still writes; nothing is changed then.
[[nodiscard]] JoinedParts join_left_parts(const std::string& directory, const std::string& output, bool keeps_parts);

}  // namespace kymo::command
