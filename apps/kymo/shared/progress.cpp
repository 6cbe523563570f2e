// A progress bar on stderr.
#include "apps/kymo/shared/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/kymo/shared/say.hpp"

namespace kymo::command {

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      next_draw_(std::chrono::steady_clock::now() + std::chrono::seconds(1)) {}

Progress::~Progress() {
  if (is_drawn_) {
    std::fputs("\r\x1b[K", stderr);
  }
}

void Progress::update(double share) {
  if (!is_terminal_) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < next_draw_) {
    return;
  }
  next_draw_ = now + std::chrono::milliseconds(100);
  constexpr int width = 40;
  const double done = std::clamp(share, 0.0, 1.0);
  const int filled = static_cast<int>(done * width);
  say("\r\x1b[K{} [{:#<{}}{:.<{}}] {:3.0f} %", what_, "", filled, "", width - filled, done * 100);
  std::fflush(stderr);
  is_drawn_ = true;
}

}  // namespace kymo::command
