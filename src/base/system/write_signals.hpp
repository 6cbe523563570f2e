// Writes that fail instead of ending the program.
#pragma once

#include <cerrno>
#include <csignal>

namespace kymo::base {

/// Blocks SIGPIPE and SIGXFSZ on this thread, and consumes the one that a write raised: it fails with EPIPE or EFBIG.
/// Keeps errno. Three system calls; where a write failed, two more.
class WithoutWriteSignals {
 public:
  WithoutWriteSignals() noexcept {
    sigset_t raised;
    sigemptyset(&raised);
    sigaddset(&raised, SIGPIPE);
    sigaddset(&raised, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &raised, &before_);
    // What was pending before is not ours to consume.
    ::sigpending(&pending_);
  }
  WithoutWriteSignals(const WithoutWriteSignals&) = delete;
  WithoutWriteSignals& operator=(const WithoutWriteSignals&) = delete;
  ~WithoutWriteSignals() {
    const int saved_errno = errno;
    if (saved_errno == EPIPE) {
      consume(SIGPIPE);
    } else if (saved_errno == EFBIG) {
      consume(SIGXFSZ);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved_errno;
  }

 private:
  /// It is pending for this thread only, unless the program ignores it.
  void consume(int signal) const noexcept {
    sigset_t pending;
    ::sigpending(&pending);
    if (sigismember(&pending_, signal) == 0 && sigismember(&pending, signal) == 1) {
      sigset_t only;
      sigemptyset(&only);
      sigaddset(&only, signal);
      int taken = 0;
      ::sigwait(&only, &taken);
    }
  }

  sigset_t before_{};
  sigset_t pending_{};
};

}  // namespace kymo::base
