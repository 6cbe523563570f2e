// A progress bar for operations that take over a second, if stderr is a terminal.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace kymo::command {

/// Shows the bar after one second and erases it when destroyed. Does nothing if stderr is not a terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// `share` is done, 0 to 1. About 30 ns if nothing is drawn.
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
