#include "record/recorder/ending_signals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>

#include <unistd.h>

#include "base/system/system.hpp"
#include "record/recorder/recorder.hpp"

namespace kymo::record {

namespace {

constexpr std::array faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::array other_crashes{SIGABRT, SIGSYS, SIGTRAP};
constexpr std::array ends{SIGINT, SIGTERM, SIGHUP};

/// A crash inside the handler ends the program at once.
__thread bool is_in_handler KYMO_STATIC_TLS = false;

template <std::size_t N>
bool is_one_of(const std::array<int, N>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

void on_signal(int signal, siginfo_t* info, void* /*context*/) {
  const int saved_errno = errno;
  if (!is_in_handler) {
    is_in_handler = true;
    if (is_one_of(ends, signal)) {
      Recorder::instance().finish_before_end(std::chrono::seconds(2));
    } else {
      Recorder::instance().write_before_crash(std::chrono::seconds(1));
    }
    is_in_handler = false;
  }
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  errno = saved_errno;
  // A fault's instruction runs again when the handler returns. A signal sent by somebody is sent again.
  if (!is_one_of(faults, signal) || info->si_code <= 0) {
    base::send_again(signal, *info);
  }
}

void watch(int signal) {
  struct sigaction current {};
  if (::sigaction(signal, nullptr, &current) != 0 || (current.sa_flags & SA_SIGINFO) != 0 ||
      current.sa_handler != SIG_DFL) {
    return;
  }
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void watch_ending_signals() noexcept {
  static std::atomic<bool> is_watching{false};
  if (!is_watching.exchange(true)) {
    std::for_each(faults.begin(), faults.end(), watch);
    std::for_each(other_crashes.begin(), other_crashes.end(), watch);
    // The kernel does not deliver these to the first process of a container where nobody handles them.
    if (::getpid() != 1) {
      std::for_each(ends.begin(), ends.end(), watch);
    }
  }
}

}  // namespace kymo::record
