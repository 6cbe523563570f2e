// Starts programs in tests and reports how they ended.
#pragma once

#include <csignal>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace kymo::test {

/// A started program. The destructor kills and reaps it unless it was waited for.
class ChildProcess {
 public:
  /// Starts a program with arguments and additional environment variables. Throws std::runtime_error.
  explicit ChildProcess(const std::vector<std::string>& command,
                        const std::vector<std::pair<std::string, std::string>>& environment = {},
                        const std::string& output_path = {});
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  /// Waits for the end. Returns the exit status, or the negative number of the signal that ended it.
  int wait();

 private:
  pid_t pid_ = -1;
  bool is_reaped_ = false;
  int status_ = 0;
};

}  // namespace kymo::test
