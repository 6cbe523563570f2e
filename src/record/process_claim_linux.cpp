// One recorder a process.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/recorder.hpp"

namespace kymo::record {

/// A name in the abstract socket namespace that this process image alone can hold: a second copy of the recorder finds
/// it taken. Nothing listens on it. Goes with the process, and with exec.
bool Recorder::claim_process() noexcept {
  if (claim_.get() >= 0) {
    return true;
  }
  std::uint64_t image[2] = {};
  if (const auto* const random = reinterpret_cast<const void*>(::getauxval(AT_RANDOM))) {
    std::memcpy(static_cast<void*>(image), random, sizeof image);
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A hash, not the bytes themselves: the C library makes its stack guards of them.
  const std::uint64_t hash = (image[0] * 0x9E3779B97F4A7C15U) ^ (image[1] * 0xE7037ED1A0B428DBU);
  const int size = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "kymo-recorder-%ld-%016llx",
                                 static_cast<long>(::getpid()), static_cast<unsigned long long>(hash ^ (hash >> 29U)));
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return true;  // a sandbox without sockets: nothing to tell copies apart with
  }
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(size));
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 && errno == EADDRINUSE) {
    ::close(socket);
    return false;
  }
  claim_ = base::KnownFile(base::move_high(base::FileDescriptor(socket)));
  return true;
}

}  // namespace kymo::record
