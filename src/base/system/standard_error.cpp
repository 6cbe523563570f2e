// Writing to standard error without harm to the program.
#include <algorithm>
#include <climits>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/system/system.hpp"
#include "base/system/write_signals.hpp"

namespace kymo::base {

namespace {

constinit bool was_closed_at_start = false;

[[gnu::constructor(101)]] void look_at_stderr() noexcept {
  was_closed_at_start = ::fcntl(STDERR_FILENO, F_GETFD) < 0;
}

}  // namespace

void write_to_stderr(std::string_view text) noexcept {
  if (was_closed_at_start) {
    return;  // the number belongs to a file of the program's by now
  }
  // A pipe with any room takes so much at once.
  const std::size_t size = std::min<std::size_t>(text.size(), PIPE_BUF);
  pollfd place{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&place, 1, 0) == 1) {
    const WithoutWriteSignals without_signals;
    static_cast<void>(!::write(STDERR_FILENO, text.data(), size));
  }
}

}  // namespace kymo::base
