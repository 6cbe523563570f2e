// What the programs of the harm tests share: scopes to record, a sink that can be shut, and what they are told to do.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include <kymo/kymo.hpp>
#include <kymo/sink.hpp>

/// What the program does, by its first argument.
using Modes = std::map<std::string, std::function<void()>>;

/// Those that fork.
Modes fork_modes();
/// Those that end or jump.
Modes end_modes();
/// Those with a disk that stalls.
Modes disk_modes();
/// Those whose signal handlers and kymo's meet.
Modes handler_modes();
/// Those whose threads differ from kymo's.
Modes thread_modes();

inline void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "harm_program: %s\n", what);
    ::_exit(1);
  }
}

inline void work(const char* what, int scopes = 1'000) {
  for (int i = 0; i < scopes; ++i) {
    KYMO_SCOPE_DYNAMIC(what);
  }
}

/// Waits in write() while it is shut.
class SlowSink final : public kymo::Sink {
 public:
  explicit SlowSink(std::function<void()> during = {}) : during_(std::move(during)) {}
  void write(const kymo::EventBatch& /*batch*/) override {
    while (is_shut_.load()) {
      is_stalling_.store(true);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    is_stalling_.store(false);
    if (during_) {
      during_();
    }
  }
  void shut() { is_shut_.store(true); }
  void open() { is_shut_.store(false); }
  /// The collector waits in write().
  [[nodiscard]] bool is_stalling() const { return is_stalling_.load(); }

 private:
  std::function<void()> during_;
  std::atomic<bool> is_shut_{false};
  std::atomic<bool> is_stalling_{false};
};

inline void until(const std::function<bool()>& holds) {
  while (!holds()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // SIGALRM is the deadline
  }
}

/// Waits until kymo handles a signal that asks the program to end.
inline void until_handled(int signal) {
  until([signal] {
    struct sigaction action {};
    return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) != 0;
  });
}
