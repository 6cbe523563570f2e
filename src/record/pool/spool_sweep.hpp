// Leftovers of dead processes in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kymo::record {

/// Cleans up after this user's dead processes, a little at a time.
///
/// - Deletes spools that were never used, whose captures are closed, or whose events are all in a file.
/// - Deletes the rings of spools that are gone.
/// - Releases the memory of other spools except for events that are in no file yet, so that `kymo recover` finds these.
///
/// Locks identify the spools of living processes; in doubt, a spool stays. Not thread-safe.
class SpoolSweep {
 public:
  /// `own`: the path of this process's spool, which is not opened, as closing it would release its lock.
  SpoolSweep(std::string directory, std::string own) : directory_(std::move(directory)), own_(std::move(own)) {}

  /// Continues where the last call stopped, for about `most_ns`. False if something is left to check. The first call
  /// lists the directory. About 10 us per spool, 1 ms if memory is released.
  bool step(std::int64_t most_ns) noexcept;

 private:
  void list();
  [[nodiscard]] std::string ring_of(const std::string& spool) const;

  std::string directory_;
  std::string own_;
  bool is_listed_ = false;
  std::vector<std::string> spools_;
  std::vector<std::string> rings_;
  std::size_t next_ = 0;
};

}  // namespace kymo::record
