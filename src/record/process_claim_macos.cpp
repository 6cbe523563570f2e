// One recorder a process.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>

#include "record/recorder.hpp"

namespace kymo::record {

/// A lock on a file that is named after the process, in the folder that macOS gives every user: a second copy of the
/// recorder finds it taken, since such locks belong to who opened the file and not to the process. Goes with the
/// process, and with exec; the file stays, empty, until the system clears that folder.
bool Recorder::claim_process() noexcept {
  if (claim_.get() >= 0) {
    return true;
  }
  std::array<char, PATH_MAX> folder{};
  const std::size_t size = ::confstr(_CS_DARWIN_USER_TEMP_DIR, folder.data(), folder.size());
  if (size == 0 || size > folder.size()) {
    return true;  // a sandbox without one: nothing to tell copies apart with
  }
  std::array<char, PATH_MAX + 64> path{};
  std::snprintf(path.data(), path.size(), "%s/kymo-recorder-%ld", folder.data(), static_cast<long>(::getpid()));
  const int file = ::open(path.data(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) {
    return true;
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(file);
    return false;
  }
  claim_ = base::KnownFile(base::FileDescriptor(file));
  return true;
}

}  // namespace kymo::record
