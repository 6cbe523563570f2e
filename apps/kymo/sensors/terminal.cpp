#include "apps/kymo/sensors/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <array>
#include <span>

namespace kymo::command {

namespace {

void write_all(std::string_view text) {
  static_cast<void>(base::write_fully(STDOUT_FILENO, std::as_bytes(std::span(text.data(), text.size()))));
}

}  // namespace

bool Terminal::is_there() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

Terminal::Terminal() {
  ::tcgetattr(STDIN_FILENO, &old_mode_);
  termios mode = old_mode_;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  mode.c_cc[VMIN] = 0;
  mode.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
    sigaddset(&mask, signal);
  }
  ::sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signals_ = base::FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  // Alternate screen, no cursor, no line wrapping.
  write_all("\033[?1049h\033[?25l\033[?7l");
}

Terminal::~Terminal() {
  write_all("\033[?7h\033[?25h\033[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSANOW, &old_mode_);
  // Consumes pending signals, which were meant for this program; it ends anyway.
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
  }
  ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

Terminal::Size Terminal::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0) {
    return {};
  }
  return {window.ws_row, window.ws_col};
}

Terminal::Input Terminal::read_key() {
  std::array<char, 8> keys{};
  const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
  if (count == 0) {
    return Input::quit;  // the terminal was closed
  }
  const std::string_view text(keys.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  if (text == "q" || text == "Q" || text == "\x03" || text == "\x04" || text == "\033") {
    return Input::quit;
  }
  if (text == "k" || text == "\033[A" || text == "\033OA") {
    return Input::up;
  }
  return text == "j" || text == "\033[B" || text == "\033OB" ? Input::down : Input::none;
}

Terminal::Input Terminal::wait(std::chrono::milliseconds timeout) {
  std::array<pollfd, 2> sources{{{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
  if (::poll(sources.data(), sources.size(), static_cast<int>(timeout.count())) <= 0) {
    return Input::none;
  }
  signalfd_siginfo info{};
  if (sources[1].revents != 0 && ::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    return info.ssi_signo == SIGWINCH ? Input::resized : Input::quit;
  }
  return sources[0].revents != 0 ? read_key() : Input::none;
}

void Terminal::draw(std::string_view lines) {
  const Size window = size();
  std::string screen = "\033[H";
  for (int row = 0; row < window.rows && !lines.empty(); ++row) {
    const std::size_t end = lines.find('\n');
    screen += row == 0 ? "" : "\r\n";
    screen += lines.substr(0, end);
    screen += "\033[K";
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  write_all(screen + "\033[J");
}

}  // namespace kymo::command
