#include "record/recorder/ending_signals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>

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

/// Faults of this thread that came again right after a handler that called ours had returned.
__thread unsigned repeated_faults KYMO_STATIC_TLS = 0;
__thread std::uint64_t last_fault_ns KYMO_STATIC_TLS = 0;

/// When signals that ask the program to end are handled; 0: they are, or never will be.
std::atomic<std::uint64_t> ends_due_ns{0};

template <std::size_t N>
bool is_one_of(const std::array<int, N>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

void on_signal(int signal, siginfo_t* info, void* context);

/// Whether the kernel calls our handler, and not one that was installed later and goes on with ours.
bool is_installed(int signal) {
  struct sigaction current {};
  return ::sigaction(signal, nullptr, &current) == 0 && (current.sa_flags & SA_SIGINFO) != 0 &&
         current.sa_sigaction == on_signal;
}

void act_by_default(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

/// Whether this fault is one more of many in a row: the handler that called ours takes its return for a mend.
bool is_endless(std::uint64_t now_ns) {
  constexpr std::uint64_t at_once_ns = 1'000'000;
  constexpr unsigned too_many = 100;
  repeated_faults = now_ns - last_fault_ns < at_once_ns ? repeated_faults + 1 : 0;
  return repeated_faults > too_many;
}

/// Called by a handler that was installed later, which decides how the program goes on. It may not have passed on what
/// is known of the signal.
void write_for_another(int signal) {
  const bool is_fault = is_one_of(faults, signal);
  if (is_fault && is_endless(monotonic_ns())) {
    act_by_default(signal);
  } else if (!is_fault || repeated_faults == 0) {
    Recorder::instance().write_before_crash(std::chrono::seconds(1));
  }
  last_fault_ns = is_fault ? monotonic_ns() : last_fault_ns;
}

void on_signal(int signal, siginfo_t* info, void* /*context*/) {
  const int saved_errno = errno;
  const bool is_ours = is_installed(signal);
  if (!is_in_handler) {
    is_in_handler = true;
    if (!is_ours) {
      write_for_another(signal);
    } else if (is_one_of(ends, signal)) {
      Recorder::instance().finish_before_end(std::chrono::seconds(2));
    } else {
      Recorder::instance().write_before_crash(std::chrono::seconds(1));
    }
    is_in_handler = false;
  } else if (!is_ours) {
    act_by_default(signal);
  }
  if (is_ours) {
    act_by_default(signal);
  }
  errno = saved_errno;
  // A fault's instruction runs again when the handler returns. A signal sent by somebody is sent again.
  if (is_ours && (!is_one_of(faults, signal) || info->si_code <= 0)) {
    base::send_again(signal, *info);
  }
}

[[nodiscard]] bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

void watch(int signal) {
  struct sigaction former {};
  if (::sigaction(signal, nullptr, &former) != 0 || !is_default(former)) {
    return;
  }
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  if (::sigaction(signal, &action, &former) == 0 && !is_default(former)) {
    ::sigaction(signal, &former, nullptr);  // another thread has just installed its handler
  }
}

void watch_ends() {
  // The kernel does not deliver these to the first process of a container where nobody handles them.
  if (ends_due_ns.exchange(0) != 0 && ::getpid() != 1) {
    std::for_each(ends.begin(), ends.end(), watch);
  }
}

}  // namespace

void watch_ending_signals(bool at_once) noexcept {
  static std::atomic<bool> is_watching{false};
  if (!is_watching.exchange(true)) {
    std::for_each(faults.begin(), faults.end(), watch);
    std::for_each(other_crashes.begin(), other_crashes.end(), watch);
    constexpr std::uint64_t delay_ns = 1'000'000'000;
    ends_due_ns.store(monotonic_ns() + delay_ns, std::memory_order_release);
  }
  if (at_once) {
    watch_ends();
  }
}

void watch_later_signals() noexcept {
  const std::uint64_t due_ns = ends_due_ns.load(std::memory_order_acquire);
  if (due_ns != 0 && monotonic_ns() >= due_ns) {
    watch_ends();
  }
}

}  // namespace kymo::record
