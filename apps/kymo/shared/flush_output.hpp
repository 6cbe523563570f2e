// Standard output, where a write can fail: a full disk, a closed descriptor, a reader that has gone.
#pragma once

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace kymo::command {

/// Hands over what was printed. Throws std::system_error with the reason if it cannot be written.
inline void flush_output() {
  errno = 0;
  // The stream remembers that a write failed earlier, but not why.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), "cannot write to standard output");
  }
}

}  // namespace kymo::command
