#include "bench/grid_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/file.hpp"

namespace kymo::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::array asking_to_end{SIGINT, SIGTERM, SIGHUP};
constexpr auto grace = std::chrono::seconds(3);

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// In the child: executes the command or reports errno.
[[noreturn]] void become(const ProcessRequest& request, const sigset_t& mask, int log, int report) {
  ::setpgid(0, 0);
  std::signal(SIGPIPE, SIG_DFL);
  const int null_device = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null_device, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  for (const auto& [name, value] : request.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> words;
  words.reserve(request.command.size() + 1);
  for (const std::string& word : request.command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  if (::chdir(request.directory.c_str()) == 0) {
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    ::execvp(words.front(), words.data());
  }
  const int error = errno;
  static_cast<void>(!::write(report, &error, sizeof error));
  ::_exit(127);
}

/// A process group.
class Group {
 public:
  explicit Group(pid_t leader) : leader_(leader) { ::setpgid(leader, leader); }

  void signal(int number) const { ::kill(-leader_, number); }

  /// Whether the leader has ended. It stays a zombie so that the group's ID is not reused.
  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }

  void reap(ProcessResult& result) const {
    signal(SIGKILL);
    int status = 0;
    rusage usage{};
    while (::wait4(leader_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    result.cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    result.peak_memory_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
    if (result.end == ProcessResult::End::exited) {
      result.end = WIFSIGNALED(status) ? ProcessResult::End::signalled : ProcessResult::End::exited;
      result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
  }

 private:
  pid_t leader_;
};

/// Waits for the group's leader. Sets `end` to the reason if the leader did not end by itself.
ProcessResult::End wait_for(const Group& group, double timeout_s, const sigset_t& blocked,
                            const std::function<void()>& on_wait) {
  const auto start = Clock::now();
  auto end = ProcessResult::End::exited;
  Clock::time_point kill_at = Clock::time_point::max();
  const auto ask_to_end = [&](ProcessResult::End why) {
    if (end == ProcessResult::End::exited) {
      end = why;
      kill_at = Clock::now() + grace;
      group.signal(SIGTERM);
    }
  };
  while (!group.has_ended()) {
    const timespec interval{0, 200'000'000};
    const int number = ::sigtimedwait(&blocked, nullptr, &interval);
    for (const int one : asking_to_end) {
      if (number == one) {
        ask_to_end(ProcessResult::End::interrupted);
      }
    }
    if (timeout_s > 0 && std::chrono::duration<double>(Clock::now() - start).count() >= timeout_s) {
      ask_to_end(ProcessResult::End::timed_out);
    }
    if (Clock::now() >= kill_at) {
      group.signal(SIGKILL);
    }
    on_wait();
  }
  return end;
}

}  // namespace

SignalsBlocked::SignalsBlocked() {
  ::sigemptyset(&blocked_);
  ::sigaddset(&blocked_, SIGCHLD);
  for (const int number : asking_to_end) {
    ::sigaddset(&blocked_, number);
  }
  ::sigprocmask(SIG_BLOCK, &blocked_, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

ProcessResult run_process(const ProcessRequest& request, const SignalsBlocked& signals,
                          const std::function<void()>& on_wait) {
  const base::FileDescriptor log(
      ::open(request.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
  if (!log) {
    throw std::runtime_error(base::describe_errno("cannot create", request.log_path, errno));
  }
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error(base::describe_errno("cannot start", request.command.front(), errno));
  }
  const base::FileDescriptor reading(ends[0]);
  base::FileDescriptor writing(ends[1]);
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child < 0) {
    throw std::runtime_error(base::describe_errno("cannot start", request.command.front(), errno));
  }
  if (child == 0) {
    become(request, signals.before(), log.get(), writing.get());
  }
  const Group group(child);
  writing.reset();
  ProcessResult result;
  int error = 0;
  ssize_t size = -1;
  while ((size = ::read(reading.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (size == static_cast<ssize_t>(sizeof error)) {
    group.reap(result);
    result.code = error;
    return result;
  }
  result.end = wait_for(group, request.timeout_s, signals.blocked(), on_wait);
  result.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  group.reap(result);
  return result;
}

}  // namespace kymo::bench
