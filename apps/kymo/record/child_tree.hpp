// Runs a command, tracks the processes it starts and their resource usage, and passes on signals.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "base/system/file.hpp"
#include "base/system/told_children.hpp"

namespace kymo::command {

/// The usage that wait4 reports for all reaped processes of the tree.
struct TreeUsage {
  std::uint64_t wall_ns = 0;
  std::uint64_t user_cpu_ns = 0;
  std::uint64_t system_cpu_ns = 0;
  std::uint64_t max_resident_bytes = 0;  ///< maximum over single processes
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t block_reads = 0;
  std::uint64_t block_writes = 0;
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;

  void add(const rusage& usage);
};

/// Starts a command and waits for its end. Orphans of the tree become children of this process, so their usage counts.
/// One at a time per process, from its only thread.
class ChildTree {
 public:
  /// Blocks the signals to be passed on for the lifetime of this object. Call before other threads start.
  ChildTree();
  ChildTree(const ChildTree&) = delete;
  ChildTree& operator=(const ChildTree&) = delete;
  ~ChildTree();

  /// Starts the command with additional environment variables. Returns 0, or the errno if it could not be executed.
  /// `before_exec` is called with its process, which waits meanwhile and has executed nothing yet.
  [[nodiscard]] int start(const std::vector<std::string>& command,
                          const std::vector<std::pair<std::string, std::string>>& environment,
                          const std::function<void(pid_t)>& before_exec);

  /// Passes on signals until the command has ended. Calls `on_ready` whenever one of `descriptors()` is readable.
  void wait(const std::function<std::vector<int>()>& descriptors, const std::function<void()>& on_ready);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The ended command's status as returned by waitpid.
  [[nodiscard]] int wait_status() const { return wait_status_; }
  /// The exit code as a shell reports it: the exit status, or 128 plus the signal number.
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] const TreeUsage& usage() const { return usage_; }

 private:
  void pass_signals_on();
  void reap();

  base::FileDescriptor signals_;
  sigset_t old_mask_{};
  base::ToldChildren told_;
  pid_t pid_ = -1;
  bool has_ended_ = false;
  int wait_status_ = 0;
  std::int64_t start_ns_ = 0;
  TreeUsage usage_;
};

}  // namespace kymo::command
