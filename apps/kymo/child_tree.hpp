// A command, the processes it starts, what they used, and the signals they are sent.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "base/file.hpp"

namespace kymo::command {

/// What wait4 says of all processes of the tree that have been reaped.
struct TreeUsage {
  std::uint64_t wall_ns = 0;
  std::uint64_t user_cpu_ns = 0;
  std::uint64_t system_cpu_ns = 0;
  std::uint64_t max_resident_bytes = 0;  ///< the largest of one process
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t block_reads = 0;
  std::uint64_t block_writes = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;

  void add(const rusage& usage);
};

/// Starts a command and waits for its end. Orphans of the tree become this process's children, so that their usage
/// counts. One at a time in a process, from its only thread.
class ChildTree {
 public:
  /// Blocks the signals that are passed on, from here to the end of the object. Call before other threads start.
  ChildTree();
  ChildTree(const ChildTree&) = delete;
  ChildTree& operator=(const ChildTree&) = delete;
  ~ChildTree();

  /// Starts the command with more environment variables. 0, or the errno of why it could not be run.
  [[nodiscard]] int start(const std::vector<std::string>& command,
                          const std::vector<std::pair<std::string, std::string>>& environment);

  /// Passes signals on until the command has ended. Calls `on_ready` whenever one of `descriptors()` can be read.
  void wait(const std::function<std::vector<int>()>& descriptors, const std::function<void()>& on_ready);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// As waitpid gives it; of the ended command.
  [[nodiscard]] int wait_status() const { return wait_status_; }
  /// What a shell makes of it: the exit status, or 128 and the number of the signal.
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] const TreeUsage& usage() const { return usage_; }

 private:
  void pass_signals_on();
  void reap();

  base::FileDescriptor signals_;
  sigset_t old_mask_{};
  pid_t pid_ = -1;
  bool has_ended_ = false;
  int wait_status_ = 0;
  std::int64_t start_ns_ = 0;
  TreeUsage usage_;
};

}  // namespace kymo::command
