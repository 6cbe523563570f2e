#include "base/system/message.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <span>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "base/system/not_cancelled.hpp"
#include "base/system/write_signals.hpp"

namespace kymo::base {

void say(std::string_view text) noexcept {
  const NotCancelled not_cancelled;
  const int saved_errno = errno;
  try {
    // A pipe with room takes so much without waiting for its reader.
    constexpr std::size_t most = PIPE_BUF;
    std::string line("kymo: ");
    line.append(text.substr(0, most - line.size() - 1)).append("\n");
    pollfd place{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&place, 1, 0) == 1) {
      const WithoutWriteSignals without_signals;
      static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()));
    }
  } catch (...) {
    // Not enough memory for one line, so the failure cannot be reported.
  }
  errno = saved_errno;
}

}  // namespace kymo::base
