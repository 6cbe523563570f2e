#include "apps/kymo/record/running_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/kymo/shared/command.hpp"
#include "base/system/clock.hpp"

namespace kymo::command {
namespace {

/// The words of /proc/PID/cmdline, each ended by a zero.
std::vector<std::string> read_words(pid_t process) {
  std::vector<std::string> words;
  const std::string text = base::read_small_file(fmt::format("/proc/{}/cmdline", process));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

RunningProcess::RunningProcess(pid_t process) : process_(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))) {
  if (!process_) {
    throw Failure(fmt::format("process {}: {}", process, std::strerror(errno)));
  }
  command_line_ = read_words(process);
  sigset_t ending{};
  ::sigemptyset(&ending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaddset(&ending, signal);
  }
  ::sigprocmask(SIG_BLOCK, &ending, &old_mask_);
  signals_ = base::FileDescriptor(::signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
}

RunningProcess::~RunningProcess() {
  // What came meanwhile has ended the waiting.
  signalfd_siginfo taken{};
  while (::read(signals_.get(), &taken, sizeof taken) > 0) {
  }
  ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

void RunningProcess::wait(std::int64_t duration_ns) {
  const std::int64_t start_ns = base::monotonic_now_ns();
  std::array<pollfd, 2> polled{{{process_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
  while (true) {
    int timeout_ms = -1;
    if (duration_ns != 0) {
      const std::int64_t left_ns = duration_ns - (base::monotonic_now_ns() - start_ns);
      if (left_ns <= 0) {
        return;
      }
      timeout_ms = static_cast<int>(std::min<std::int64_t>(left_ns / 1'000'000 + 1, INT_MAX));
    }
    if (::poll(polled.data(), polled.size(), timeout_ms) > 0) {
      return;
    }
  }
}

}  // namespace kymo::command
