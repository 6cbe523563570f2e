// One run of a command: started as a process group of its own, waited for, and ended with all of its group in time.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kymo::bench {

struct ProcessRequest {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  ///< more of it
  std::string directory;                                         ///< to run in
  std::string log_path;                                          ///< takes stdout and stderr
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

/// Blocks SIGCHLD and the signals that ask for an end, so that they can be waited for. Made before other threads are.
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
};

/// Runs a command to its end. Out of time, or when this process is asked to end, the group gets SIGTERM, and SIGKILL
/// three seconds later; what the command leaves behind in its group is killed with its end. `on_wait` is called about
/// five times a second. std::runtime_error where the log cannot be made.
[[nodiscard]] ProcessResult run_process(const ProcessRequest& request, const SignalsBlocked& signals,
                                        const std::function<void()>& on_wait);

}  // namespace kymo::bench
