// Holds the spools of recorded processes that found no room in tmpfs.
#include "apps/kymo/record/spool_holder.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/pool/spool_layout.hpp"

namespace kymo::command {

namespace {

using record::SpoolHeader;

/// More than any tree of processes needs; further connections are closed.
constexpr std::size_t most_connections = 1024;
constexpr std::size_t most_spools = 4096;

enum class Received { nothing, closed, something };

/// Receives one message; stores a descriptor that came with it in `file`.
Received receive_file(int socket, base::FileDescriptor& file) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = static_cast<void*>(control);
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) {
    return errno == EAGAIN || errno == EINTR ? Received::nothing : Received::closed;
  }
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(header) + i * sizeof(int), sizeof received);
      file = base::FileDescriptor(received);
    }
  }
  return size == 0 ? Received::closed : Received::something;
}

/// Reads the header of a spool. Returns false if the file is not one.
bool read_header(int file, SpoolHeader& header, std::uint64_t& size) {
  struct stat status {};
  // Reads instead of mapping, which could raise SIGBUS. Sealed files and devices can be read as well.
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      base::read_fully_at(file, {reinterpret_cast<std::byte*>(&header), sizeof header}, 0) !=
          static_cast<std::int64_t>(sizeof header)) {
    return false;
  }
  size = static_cast<std::uint64_t>(status.st_size);
  return header.magic == record::spool_magic && header.version == record::spool_version;
}

bool copy_file(int from, std::uint64_t size, const std::string& path) {
  const base::FileDescriptor to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  std::vector<std::byte> buffer(std::size_t{1} << 20U);
  for (std::uint64_t offset = 0; to && offset < size;) {
    const std::int64_t count = base::read_fully_at(from, buffer, offset);
    if (count <= 0) {
      break;
    }
    if (!base::write_fully(to.get(), {buffer.data(), static_cast<std::size_t>(count)})) {
      return false;
    }
    offset += static_cast<std::uint64_t>(count);
  }
  return static_cast<bool>(to);
}

}  // namespace

SpoolHolder::SpoolHolder(const std::string& directory) {
  const std::string path = directory + "/spools";
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(static_cast<void*>(address.sun_path), path.data(), path.size());
  base::FileDescriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener && ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    path_ = path;
    if (::listen(listener.get(), 128) == 0) {
      listener_ = std::move(listener);
      return;
    }
    ::unlink(path_.c_str());
    path_.clear();
  }
}

SpoolHolder::~SpoolHolder() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
  }
}

std::vector<int> SpoolHolder::descriptors() const {
  std::vector<int> descriptors;
  if (listener_) {
    descriptors.push_back(listener_.get());
  }
  for (const base::FileDescriptor& connection : connections_) {
    descriptors.push_back(connection.get());
  }
  return descriptors;
}

void SpoolHolder::receive() {
  while (listener_) {
    base::FileDescriptor connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
      break;
    }
    if (connections_.size() < most_connections) {
      connections_.push_back(std::move(connection));
    }
  }
  for (base::FileDescriptor& connection : connections_) {
    Received received = Received::something;
    while (received == Received::something) {
      base::FileDescriptor file;
      received = receive_file(connection.get(), file);
      if (file && spools_.size() < most_spools) {
        spools_.push_back(std::move(file));
      }
    }
    if (received == Received::closed) {
      connection.reset();
    }
  }
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(),
                                    [](const base::FileDescriptor& connection) { return !connection; }),
                     connections_.end());
}

std::size_t SpoolHolder::save(const std::string& directory) const {
  std::size_t saved = 0;
  SpoolHeader header;
  std::uint64_t size = 0;
  for (const base::FileDescriptor& spool : spools_) {
    if (!read_header(spool.get(), header, size) || header.is_needless()) {
      continue;
    }
    const std::string path =
        fmt::format("{}/kymo-{}-{:016x}{:016x}.spool", directory, header.owner_pid, header.id[0], header.id[1]);
    saved += copy_file(spool.get(), size, path) ? 1U : 0U;
  }
  return saved;
}

}  // namespace kymo::command
