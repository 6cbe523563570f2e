// The terminal as a full-screen display. Restores its state afterwards.
#pragma once

#include <chrono>
#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <termios.h>

#include "base/system/file.hpp"

namespace kymo::command {

/// Takes over stdin and stdout for its lifetime: alternate screen, no echo, no cursor. One at a time, from the only
/// thread or before others start: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP and SIGWINCH are blocked and returned by
/// wait().
class Terminal {
 public:
  /// Whether stdin and stdout are a terminal.
  [[nodiscard]] static bool is_there();

  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  struct Key {
    enum class Kind {
      none,  ///< the time is over, or the size changed
      quit,  ///< a signal, or the terminal is gone
      character,
      enter,
      erase,
      escape,
      up,
      down,
      page_up,
      page_down,
      home,
      end,
    };
    Kind kind = Kind::none;
    char character = '\0';  ///< printable ASCII, Ctrl-C or Ctrl-D
  };
  /// The next key or signal until the timeout. SIGTSTP gives the terminal back until the process goes on.
  [[nodiscard]] Key wait(std::chrono::milliseconds timeout);

  struct Size {
    int rows = 24;
    int columns = 80;
  };
  [[nodiscard]] static Size size();
  /// Shows lines from the top. Omits lines that do not fit and text beyond the right edge.
  void draw(const std::vector<std::string>& lines);

 private:
  void enter();
  void leave();
  void suspend();
  [[nodiscard]] Key take_key();

  termios old_mode_{};
  sigset_t old_mask_{};
  base::FileDescriptor signals_;
  std::string keys_;  // read, but not taken
};

}  // namespace kymo::command
