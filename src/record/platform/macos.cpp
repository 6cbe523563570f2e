#include "record/platform/platform.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

namespace kymo::record {

std::uint64_t os_thread_id() noexcept {
  std::uint64_t id = 0;
  ::pthread_threadid_np(nullptr, &id);
  return id;
}

bool has_thread_ended(std::uint64_t /*id*/) noexcept {
  return false;
}

void read_thread_name(char (&name)[17]) noexcept {
  name[0] = '\0';
  ::pthread_getname_np(::pthread_self(), static_cast<char*>(name), sizeof name);
}

std::uint64_t change_signal_mask(int how, const std::uint64_t* signals) noexcept {
  const auto changed = static_cast<sigset_t>(signals != nullptr ? *signals : 0);
  sigset_t before = 0;
  return ::pthread_sigmask(how, signals != nullptr ? &changed : nullptr, &before) == 0 ? before : ~std::uint64_t{0};
}

/// Locks a file named after the process, in the folder that macOS gives every user. A second copy of the recorder finds
/// it taken, since such locks belong to the open file and not to the process. Released when the process ends or calls
/// exec; the empty file stays until the system clears that folder.
bool claim_process(base::KnownFile& claim) noexcept {
  std::array<char, PATH_MAX> folder{};
  const std::size_t size = ::confstr(_CS_DARWIN_USER_TEMP_DIR, folder.data(), folder.size());
  if (size == 0 || size > folder.size()) {
    return true;  // a sandbox without such a folder: copies cannot be told apart
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
  claim = base::KnownFile(base::FileDescriptor(file));
  return true;
}

bool is_in_own_namespace() noexcept {
  return false;
}

}  // namespace kymo::record
