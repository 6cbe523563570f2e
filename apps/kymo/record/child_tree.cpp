// Runs a command, tracks the processes it starts, and passes on signals.
#include "apps/kymo/record/child_tree.hpp"
#include "base/system/clock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace kymo::command {

namespace {

constexpr std::array passed_on{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

std::uint64_t to_ns(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_usec) * 1'000U;
}

/// Two ends of a pipe; none if there are no descriptors left.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      reading = base::FileDescriptor(ends[0]);
      writing = base::FileDescriptor(ends[1]);
    }
  }

  base::FileDescriptor reading;
  base::FileDescriptor writing;
};

/// Reads that many bytes, or fewer at the pipe's end.
ssize_t read_bytes(const base::FileDescriptor& from, void* bytes, std::size_t size) {
  ssize_t count = -1;
  while ((count = ::read(from.get(), bytes, size)) < 0 && errno == EINTR) {
  }
  return count;
}

/// In the child: executes the command. Reports errno through the pipe on failure.
[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::vector<std::pair<std::string, std::string>>& environment, const sigset_t& mask,
                         int report) {
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  for (const auto& [name, value] : environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  static_cast<void>(!::write(report, &error, sizeof error));
  ::_exit(127);
}

}  // namespace

void TreeUsage::add(const rusage& usage) {
  const auto count = [](long value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); };
  user_cpu_ns += to_ns(usage.ru_utime);
  system_cpu_ns += to_ns(usage.ru_stime);
  max_resident_bytes = std::max(max_resident_bytes, count(usage.ru_maxrss) * 1024);
  minor_faults += count(usage.ru_minflt);
  major_faults += count(usage.ru_majflt);
  block_reads += count(usage.ru_inblock);
  block_writes += count(usage.ru_oublock);
  voluntary_switches += count(usage.ru_nvcsw);
  involuntary_switches += count(usage.ru_nivcsw);
}

ChildTree::ChildTree() {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  for (const int number : passed_on) {
    ::sigaddset(&mask, number);
  }
  ::sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signals_ = base::FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

ChildTree::~ChildTree() {
  ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

int ChildTree::start(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& environment,
                     const std::function<void(pid_t)>& before_exec) {
  Pipe report;
  Pipe go;
  if (!signals_ || !report.reading || !go.reading) {
    return errno;
  }
  start_ns_ = base::monotonic_now_ns();
  pid_ = ::fork();
  if (pid_ < 0) {
    return errno;
  }
  char word = 0;
  if (pid_ == 0) {
    go.writing.reset();
    if (read_bytes(go.reading, &word, sizeof word) != 1) {
      ::_exit(127);  // kymo is gone
    }
    told_.restore();
    become(command, environment, old_mask_, report.writing.get());
  }
  report.writing.reset();
  before_exec(pid_);
  static_cast<void>(!::write(go.writing.get(), &word, sizeof word));
  int error = 0;
  if (read_bytes(report.reading, &error, sizeof error) != static_cast<ssize_t>(sizeof error)) {
    return 0;
  }
  ::waitpid(pid_, nullptr, 0);
  return error;
}

void ChildTree::pass_signals_on() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    // The terminal sends its signals to the command as well.
    const bool is_from_process = info.ssi_code <= 0;
    if (info.ssi_signo != SIGCHLD && is_from_process && !has_ended_) {
      ::kill(pid_, static_cast<int>(info.ssi_signo));
    }
  }
}

void ChildTree::reap() {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t ended = ::wait4(-1, &status, WNOHANG, &usage);
    if (ended <= 0) {
      return;
    }
    usage_.add(usage);
    if (ended == pid_) {
      has_ended_ = true;
      wait_status_ = status;
      usage_.wall_ns = static_cast<std::uint64_t>(base::monotonic_now_ns() - start_ns_);
    }
  }
}

void ChildTree::wait(const std::function<std::vector<int>()>& descriptors, const std::function<void()>& on_ready) {
  for (;;) {
    reap();
    if (has_ended_) {
      on_ready();
      return;
    }
    std::vector<pollfd> polled{{signals_.get(), POLLIN, 0}};
    for (const int descriptor : descriptors()) {
      polled.push_back({descriptor, POLLIN, 0});
    }
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      return;
    }
    pass_signals_on();
    if (std::any_of(polled.begin() + 1, polled.end(), [](const pollfd& entry) { return entry.revents != 0; })) {
      on_ready();
    }
  }
}

int ChildTree::exit_code() const {
  return WIFSIGNALED(wait_status_) ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

}  // namespace kymo::command
