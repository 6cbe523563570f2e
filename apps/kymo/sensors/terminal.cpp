#include "apps/kymo/sensors/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
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
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) {
    sigaddset(&mask, signal);
  }
  ::sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signals_ = base::FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  enter();
}

Terminal::~Terminal() {
  leave();
  // Consumes pending signals, which were meant for this program; it ends anyway.
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
  }
  ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
}

void Terminal::enter() {
  termios mode = old_mode_;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  mode.c_cc[VMIN] = 0;
  mode.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &mode);
  // Alternate screen, no cursor, no line wrapping.
  write_all("\033[?1049h\033[?25l\033[?7l");
}

void Terminal::leave() {
  write_all("\033[0m\033[?7h\033[?25h\033[?1049l");
  ::tcsetattr(STDIN_FILENO, TCSANOW, &old_mode_);
}

void Terminal::suspend() {
  leave();
  ::raise(SIGSTOP);  // returns with SIGCONT
  enter();
}

Terminal::Size Terminal::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row == 0 || window.ws_col == 0) {
    return {};
  }
  return {window.ws_row, window.ws_col};
}

Terminal::Key Terminal::take_key() {
  using Kind = Key::Kind;
  struct Sequence {
    std::string_view bytes;
    Kind kind;
  };
  static constexpr std::array<Sequence, 17> sequences{{{"\033[A", Kind::up},
                                                       {"\033OA", Kind::up},
                                                       {"\033[B", Kind::down},
                                                       {"\033OB", Kind::down},
                                                       {"\033[5~", Kind::page_up},
                                                       {"\033[6~", Kind::page_down},
                                                       {"\033[H", Kind::home},
                                                       {"\033OH", Kind::home},
                                                       {"\033[1~", Kind::home},
                                                       {"\033[7~", Kind::home},
                                                       {"\033[F", Kind::end},
                                                       {"\033OF", Kind::end},
                                                       {"\033[4~", Kind::end},
                                                       {"\033[8~", Kind::end},
                                                       {"\x7f", Kind::erase},
                                                       {"\b", Kind::erase},
                                                       {"\r", Kind::enter}}};
  for (const Sequence& sequence : sequences) {
    if (keys_.compare(0, sequence.bytes.size(), sequence.bytes) == 0) {
      keys_.erase(0, sequence.bytes.size());
      return {sequence.kind};
    }
  }
  const char first = keys_.front();
  if (first == '\033') {
    if (keys_.size() == 1 || keys_[1] == '\033') {
      keys_.erase(0, 1);
      return {Kind::escape};
    }
    // A sequence without a meaning here: parameters up to a letter or '~', or a single character.
    const bool has_parameters = keys_[1] == '[' || keys_[1] == 'O';
    const std::size_t last = has_parameters ? keys_.find_first_not_of("0123456789;<=>?: !\"#$%&'()*+,-./", 2) : 1;
    keys_.erase(0, std::min(last, keys_.size() - 1) + 1);
    return {};
  }
  keys_.erase(0, 1);
  const bool is_known = (first >= ' ' && first <= '~') || first == '\x03' || first == '\x04';
  return first == '\n' ? Key{Kind::enter} : Key{is_known ? Kind::character : Kind::none, first};
}

Terminal::Key Terminal::wait(std::chrono::milliseconds timeout) {
  if (!keys_.empty()) {
    return take_key();
  }
  std::array<pollfd, 2> sources{{{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
  if (::poll(sources.data(), sources.size(), static_cast<int>(timeout.count())) <= 0) {
    return {};
  }
  signalfd_siginfo info{};
  if (sources[1].revents != 0 && ::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGTSTP) {
      suspend();
    }
    return {info.ssi_signo == SIGWINCH || info.ssi_signo == SIGTSTP ? Key::Kind::none : Key::Kind::quit};
  }
  if (sources[0].revents == 0) {
    return {};
  }
  std::array<char, 64> bytes{};
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
    return {Key::Kind::quit};  // the terminal was closed
  }
  keys_.assign(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return keys_.empty() ? Key{} : take_key();
}

void Terminal::draw(const std::vector<std::string>& lines) {
  const Size window = size();
  std::string screen = "\033[H";
  const std::size_t shown = std::min(lines.size(), static_cast<std::size_t>(window.rows));
  for (std::size_t row = 0; row < shown; ++row) {
    // Erased first: behind a line that fills the row, the cursor is still on its last column.
    screen += row == 0 ? "\033[K" : "\r\n\033[K";
    screen += lines[row];
    screen += "\033[0m";
  }
  write_all(screen + (shown < static_cast<std::size_t>(window.rows) ? "\r\n\033[J" : ""));
}

}  // namespace kymo::command
