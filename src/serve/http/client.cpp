#include "serve/http/client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace kymo::serve {
namespace {

constexpr std::chrono::milliseconds longest_nap{100};

std::chrono::milliseconds left_until(std::chrono::steady_clock::time_point deadline) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()),
                  std::chrono::milliseconds(0));
}

/// Waits for a socket. Returns whether it is ready; false after a signal.
bool is_ready(int fd, short events, std::chrono::milliseconds timeout) {
  pollfd waited{fd, events, 0};
  return ::poll(&waited, 1, static_cast<int>(timeout.count())) > 0;
}

/// Whether a line feed at or behind an offset follows something else than a carriage return. Proxies and servers split
/// such a head in different ways, and it may never have an empty line that both see.
bool has_bare_line_feed(std::string_view head, std::size_t from) {
  for (std::size_t at = head.find('\n', from); at != head.npos; at = head.find('\n', at + 1)) {
    if (at == 0 || head[at - 1] != '\r') {
      return true;
    }
  }
  return false;
}

}  // namespace

Client::Client(base::FileDescriptor socket, const Limits& limits, std::function<bool()> others_wait)
    : socket_(std::move(socket)), limits_(limits), others_wait_(std::move(others_wait)) {
  const int on = 1;
  // Limits the data that the kernel holds for a client that does not read.
  const int send_buffer = 256 << 10;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
}

Client::Arrival Client::receive(std::chrono::milliseconds timeout) {
  if (!is_ready(socket_.get(), POLLIN, timeout)) {
    return Arrival::nothing;
  }
  std::array<char, 4096> bytes{};
  const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count > 0) {
    buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    return Arrival::bytes;
  }
  const bool may_come = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return may_come ? Arrival::nothing : Arrival::end;
}

Client::Reading Client::read_head(std::string_view& head) {
  constexpr std::string_view blank_line = "\r\n\r\n";
  buffer_.erase(0, used_);
  used_ = 0;
  const auto start = SteadyClock::now();
  bool has_begun = !buffer_.empty();
  auto deadline = start + (has_begun || !has_served_ ? limits_.head_time : limits_.idle_time);
  // Between two requests a connection gives way at once. A request may still be on its way.
  auto stays_until = start + (has_begun || !has_served_ ? limits_.silence : std::chrono::milliseconds(0));
  std::size_t searched = 0;
  for (;;) {
    const std::size_t found = buffer_.find(blank_line, searched);
    const std::size_t size = found == std::string::npos ? buffer_.size() : found + blank_line.size();
    if (size > limits_.head_bytes) {
      return Reading::too_large;
    }
    if (has_bare_line_feed(std::string_view(buffer_).substr(0, size), searched)) {
      return Reading::malformed;
    }
    if (found != std::string::npos) {
      used_ = size;
      has_served_ = true;
      head = std::string_view(buffer_).substr(0, size);
      return Reading::head;
    }
    searched = buffer_.size() - std::min(buffer_.size(), blank_line.size() - 1);
    const std::chrono::milliseconds left = left_until(deadline);
    const Arrival arrival = receive(std::min(left, longest_nap));
    if (arrival == Arrival::bytes && !has_begun) {
      has_begun = true;
      deadline = SteadyClock::now() + limits_.head_time;
      stays_until = SteadyClock::now() + limits_.silence;
      continue;
    }
    if (arrival == Arrival::end || left.count() == 0 || gives_way(stays_until)) {
      return Reading::gone;
    }
  }
}

bool Client::gives_way(SteadyClock::time_point stays_until) const {
  return SteadyClock::now() >= stays_until && others_wait_();
}

bool Client::send_part(std::string_view bytes) {
  const auto start = SteadyClock::now();
  const auto deadline = start + limits_.write_time;
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    const std::chrono::milliseconds left = left_until(deadline);
    if ((errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) || left.count() == 0 ||
        gives_way(start + limits_.silence)) {
      return false;
    }
    is_ready(socket_.get(), POLLOUT, std::min(left, longest_nap));
  }
  return true;
}

bool Client::write(std::string_view bytes) {
  constexpr std::size_t part = std::size_t{64} << 10U;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(part, bytes.size()))) {
    if (!send_part(bytes.substr(0, part))) {
      return false;
    }
  }
  return true;
}

bool Client::is_there() const {
  pollfd asked{socket_.get(), POLLRDHUP, 0};
  return ::poll(&asked, 1, 0) == 0;
}

void Client::end() {
  ::shutdown(socket_.get(), SHUT_WR);
  // Closing a socket with unread bytes resets the connection, which may discard the bytes written.
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(500);
  for (std::size_t rounds = 0; rounds < 64 && left_until(deadline).count() > 0; ++rounds) {
    buffer_.clear();
    if (receive(left_until(deadline)) == Arrival::end) {
      break;
    }
  }
}

}  // namespace kymo::serve
