// Signals that are held back, where there are signals.
#include <csignal>

#include <kymo/detail/thread_state.hpp>

#include "record/platform/platform.hpp"

namespace kymo::record {

namespace {

constexpr std::uint64_t bit_of(int signal) {
  return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
}

/// Not the faults, which cannot wait.
constexpr std::uint64_t held_signals =
    ~(bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGILL) | bit_of(SIGTRAP) | bit_of(SIGSYS));

__thread std::uint32_t times_held KYMO_STATIC_TLS = 0;
__thread std::uint64_t blocked_before KYMO_STATIC_TLS = 0;

}  // namespace

std::uint64_t blocked_signals() noexcept {
  const std::uint64_t blocked = change_signal_mask(SIG_BLOCK, nullptr);
  return times_held == 0 ? blocked : blocked & (blocked_before | ~held_signals);
}

void hold_signals() noexcept {
  const std::uint64_t before = change_signal_mask(SIG_BLOCK, &held_signals);
  // A fault's handler that left by siglongjmp released them without a word.
  const bool is_first = times_held == 0 || (before & bit_of(SIGUSR1)) == 0;
  if (is_first) {
    blocked_before = before;
  }
  times_held = is_first ? 1 : times_held + 1;
}

void release_signals() noexcept {
  if (times_held == 0 || --times_held != 0) {
    return;
  }
  const std::uint64_t before = blocked_before;
  change_signal_mask(SIG_SETMASK, &before);
}

}  // namespace kymo::record
