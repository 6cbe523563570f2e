#include "serve/http/client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace kymo::serve {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds longest_nap{100};

std::chrono::milliseconds left_until(SteadyClock::time_point deadline) {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()),
                  std::chrono::milliseconds(0));
}

/// Waits for a socket. Returns whether it is ready; false after a signal.
bool is_ready(int fd, short events, std::chrono::milliseconds timeout) {
  pollfd waited{fd, events, 0};
  return ::poll(&waited, 1, static_cast<int>(timeout.count())) > 0;
}

}  // namespace

Client::Client(base::FileDescriptor socket, const Limits& limits) : socket_(std::move(socket)), limits_(limits) {
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

Client::Reading Client::read_head(std::string_view& head, const std::function<bool()>& gives_way) {
  constexpr std::string_view blank_line = "\r\n\r\n";
  buffer_.erase(0, used_);
  used_ = 0;
  const auto start = SteadyClock::now();
  bool has_begun = !buffer_.empty();
  auto deadline = start + (has_begun || !has_served_ ? limits_.head_time : limits_.idle_time);
  // The first request of a connection may still be on its way.
  const auto silent_from = start + (has_served_ ? std::chrono::milliseconds(0) : limits_.silence);
  std::size_t searched = 0;
  for (;;) {
    const std::size_t found = buffer_.find(blank_line, searched);
    const std::size_t size = found == std::string::npos ? buffer_.size() : found + blank_line.size();
    if (size > limits_.head_bytes) {
      return Reading::too_large;
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
      continue;
    }
    const bool may_give_way = !has_begun && SteadyClock::now() >= silent_from;
    if (arrival == Arrival::end ||
        (arrival == Arrival::nothing && (left.count() == 0 || (may_give_way && gives_way())))) {
      return Reading::gone;
    }
  }
}

bool Client::send_part(std::string_view bytes) {
  const auto deadline = SteadyClock::now() + limits_.write_time;
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    const std::chrono::milliseconds left = left_until(deadline);
    if ((errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) || left.count() == 0) {
      return false;
    }
    is_ready(socket_.get(), POLLOUT, left);
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
