// A process that kymo record did not start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>
#include <csignal>

#include "base/system/file.hpp"

namespace kymo::command {

/// Watches a process. Blocks SIGINT, SIGTERM and SIGHUP meanwhile: they end the waiting. One at a time, from the only
/// thread of this process.
class RunningProcess {
 public:
  /// Throws Failure if there is no such process.
  explicit RunningProcess(pid_t process);
  RunningProcess(const RunningProcess&) = delete;
  RunningProcess& operator=(const RunningProcess&) = delete;
  ~RunningProcess();

  /// Returns when it has ended, a signal came, or `duration_ns` have passed; 0: no limit.
  void wait(std::int64_t duration_ns);
  [[nodiscard]] const std::vector<std::string>& command_line() const { return command_line_; }

 private:
  base::FileDescriptor process_;
  base::FileDescriptor signals_;
  sigset_t old_mask_{};
  std::vector<std::string> command_line_;
};

}  // namespace kymo::command
