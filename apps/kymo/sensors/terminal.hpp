// The terminal as a full-screen display. Restores its state afterwards.
#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>

#include <termios.h>

#include "base/system/file.hpp"

namespace kymo::command {

/// Takes over stdin and stdout for its lifetime: alternate screen, no echo, no cursor. One at a time, from the only
/// thread or before others start: SIGINT, SIGTERM, SIGHUP and SIGWINCH are blocked and returned by wait().
class Terminal {
 public:
  /// Whether stdin and stdout are a terminal.
  [[nodiscard]] static bool is_there();

  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  enum class Input { none, quit, up, down, resized };
  /// Waits for a key or a signal until the timeout.
  [[nodiscard]] Input wait(std::chrono::milliseconds timeout);

  struct Size {
    int rows = 24;
    int columns = 80;
  };
  [[nodiscard]] static Size size();
  /// Shows lines from the top. Omits lines that do not fit and text beyond the right edge.
  void draw(std::string_view lines);

 private:
  [[nodiscard]] Input read_key();

  termios old_mode_{};
  sigset_t old_mask_{};
  base::FileDescriptor signals_;
};

}  // namespace kymo::command
