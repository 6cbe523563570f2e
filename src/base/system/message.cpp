#include "base/system/message.hpp"

#include <cerrno>
#include <string>

#include "base/system/not_cancelled.hpp"
#include "base/system/system.hpp"

namespace kymo::base {

void say(std::string_view text) noexcept {
  const NotCancelled not_cancelled;
  const int saved_errno = errno;
  try {
    std::string line;
    line.reserve(text.size() + 8);
    line.append("kymo: ").append(text).append("\n");
    write_to_stderr(line);
  } catch (...) {
    // Not enough memory for one line, so the failure cannot be reported.
  }
  errno = saved_errno;
}

}  // namespace kymo::base
