#include "base/system/message.hpp"

#include <cerrno>
#include <string>

#include <unistd.h>

#include "base/system/not_cancelled.hpp"

namespace kymo::base {

void say(std::string_view text) noexcept {
  const NotCancelled not_cancelled;
  const int saved_errno = errno;
  try {
    std::string line;
    line.reserve(text.size() + 8);
    line.append("kymo: ").append(text).append("\n");
    std::size_t written = 0;
    while (written < line.size()) {
      const ssize_t count = ::write(STDERR_FILENO, line.data() + written, line.size() - written);
      if (count < 0 && errno == EINTR) {
        continue;
      }
      if (count <= 0) {
        break;
      }
      written += static_cast<std::size_t>(count);
    }
  } catch (...) {
    // Not enough memory for one line, so the failure cannot be reported.
  }
  errno = saved_errno;
}

}  // namespace kymo::base
