// One-line messages on stderr, each kind of problem once per process.
#pragma once

#include <atomic>
#include <string_view>

namespace kymo::base {

/// Writes "kymo: <text>\n" to stderr in one write(2). Never throws; thread-safe; keeps errno.
void say(std::string_view text) noexcept;

/// Prints its text at most once per process. Thread-safe.
class SayOnce {
 public:
  void operator()(std::string_view text) noexcept {
    if (!said_.exchange(true, std::memory_order_relaxed)) {
      say(text);
    }
  }

 private:
  std::atomic<bool> said_{false};
};

}  // namespace kymo::base
