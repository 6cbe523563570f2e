// A progress bar on stderr for what takes over a second, where stderr is a terminal.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace kymo::command {

/// Shows the bar from the second second on and wipes it out when destroyed. Does nothing where stderr is no terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// `share` is done, 0 to 1. About 30 ns where nothing is drawn.
  void update(double share);
  [[nodiscard]] std::function<void(double)> callback() {
    return [this](double share) { update(share); };
  }

 private:
  std::string what_;
  bool is_terminal_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point next_draw_;
};

}  // namespace kymo::command
