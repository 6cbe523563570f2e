#include "support/child_process.hpp"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kymo::test {

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::vector<std::pair<std::string, std::string>>& environment,
                           const std::string& output_path) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) {
    throw std::runtime_error("fork failed");
  }
  if (pid_ == 0) {
    for (const auto& [name, value] : environment) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    if (!output_path.empty()) {
      const int file = ::open(output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(file, STDOUT_FILENO);
      ::dup2(file, STDERR_FILENO);
    }
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
}

ChildProcess::~ChildProcess() {
  if (!is_reaped_) {
    signal(SIGKILL);
    wait();
  }
}

int ChildProcess::wait() {
  while (!is_reaped_) {
    int status = 0;
    if (::waitpid(pid_, &status, 0) == pid_) {
      is_reaped_ = true;
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    } else if (errno != EINTR) {
      throw std::runtime_error("waitpid failed");
    }
  }
  return status_;
}

}  // namespace kymo::test
