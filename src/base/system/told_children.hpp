// Children whose end can be waited for.
#pragma once

#include <csignal>

namespace kymo::base {

/// Where SIGCHLD is ignored, the kernel does not tell how a child ended. Takes the default action meanwhile, and leaves
/// every other one alone.
class ToldChildren {
 public:
  ToldChildren() noexcept {
    ::sigaction(SIGCHLD, nullptr, &before_);
    if (is_ignored()) {
      struct sigaction action {};
      action.sa_handler = SIG_DFL;
      ::sigaction(SIGCHLD, &action, nullptr);
    }
  }
  ToldChildren(const ToldChildren&) = delete;
  ToldChildren& operator=(const ToldChildren&) = delete;
  ~ToldChildren() { restore(); }

  /// Also for a child before its exec, so that it inherits what this process did. Async-signal-safe.
  void restore() const noexcept {
    if (is_ignored()) {
      ::sigaction(SIGCHLD, &before_, nullptr);
    }
  }

 private:
  [[nodiscard]] bool is_ignored() const noexcept {
    return (before_.sa_flags & SA_SIGINFO) == 0 && before_.sa_handler == SIG_IGN;
  }

  struct sigaction before_ {};
};

}  // namespace kymo::base
