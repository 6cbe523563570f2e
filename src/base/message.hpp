// What the recorder has to say to a person: one line on stderr, each kind of trouble once a process.
#pragma once

#include <atomic>
#include <string_view>

namespace kymo::base {

/// Writes "kymo: <text>\n" to stderr in one write(2). Never throws; thread safe; keeps errno.
void say(std::string_view text) noexcept;

/// Says its text at most once a process, however often and from however many threads it is called.
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
