#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/spool_holder.hpp"

namespace kymo::control {

int connect_to_holder(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return -1;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(static_cast<void*>(address.sun_path), path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket >= 0 && ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket);
    return -1;
  }
  return socket;
}

}  // namespace kymo::control
