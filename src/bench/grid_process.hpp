// Runs a command in a process group of its own, waits for it, and ends the whole group on timeout.
#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/system/told_children.hpp"

namespace kymo::bench {

struct ProcessRequest {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  ///< in addition to the present one
  std::string directory;                                         ///< working directory
  std::string log_path;                                          ///< receives stdout and stderr
  double timeout_s = 0;                                          ///< 0: none
};

struct ProcessResult {
  enum class End { exited, signalled, timed_out, interrupted, not_started };
  End end = End::not_started;
  int code = 0;  ///< exit status, signal, or errno
  double wall_s = 0;
  double cpu_s = 0;
  double peak_memory_bytes = 0;  ///< of the largest process
};

/// Blocks SIGCHLD and the termination signals so that they can be waited for. Create it before other threads.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

  [[nodiscard]] const sigset_t& blocked() const { return blocked_; }
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t blocked_{};
  sigset_t before_{};
  base::ToldChildren told_;
};

/// Runs a command until it ends. On timeout, or when this process is asked to end, the group gets SIGTERM, and SIGKILL
/// three seconds later. Processes left in the group are killed when the command ends. `on_wait` is called about five
/// times a second. Throws std::runtime_error if the log cannot be created.
[[nodiscard]] ProcessResult run_process(const ProcessRequest& request, const SignalsBlocked& signals,
                                        const std::function<void()>& on_wait);

}  // namespace kymo::bench
