#include "record/crash_handler.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>

#include <unistd.h>

#include "record/recorder.hpp"

namespace kymo::record {

namespace {

constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

std::array<struct sigaction, crash_signals.size()> previous_actions;
std::atomic<bool> is_installed{false};
std::atomic<bool> is_crashing{false};

void hand_on(int signal, siginfo_t* info, void* context, const struct sigaction& previous) {
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
    return;
  }
  if (previous.sa_handler == SIG_IGN) {
    return;
  }
  if (previous.sa_handler != SIG_DFL) {
    previous.sa_handler(signal);
    return;
  }
  // The default: the faulting instruction runs again, or the signal comes again once this handler returns, and ends
  // the process with the status and the core that it would have left.
  ::sigaction(signal, &previous, nullptr);
  ::raise(signal);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  if (!is_crashing.exchange(true)) {
    Recorder::instance().write_before_crash(std::chrono::seconds(1));
  }
  errno = saved_errno;
  for (std::size_t i = 0; i < crash_signals.size(); ++i) {
    if (crash_signals[i] == signal) {
      hand_on(signal, info, context, previous_actions[i]);
    }
  }
  // A handler that mended the cause and returned: the next crash is to be written too.
  is_crashing.store(false);
}

}  // namespace

void install_crash_handler() noexcept {
  if (is_installed.exchange(true)) {
    return;
  }
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < crash_signals.size(); ++i) {
    ::sigaction(crash_signals[i], &action, &previous_actions[i]);
  }
}

}  // namespace kymo::record
