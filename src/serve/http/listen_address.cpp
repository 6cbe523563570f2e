#include "serve/http/listen_address.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/text/ascii.hpp"
#include "base/text/number_text.hpp"

namespace kymo::serve {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument("--listen " + std::string(text) +
                              ": not an address; write HOST:PORT, such as 127.0.0.1:7878, [::1]:7878 or localhost:0 "
                              "(port 0: any that is free)");
}

bool is_name_or_address(std::string_view host) {
  return !host.empty() && host.size() <= 253 &&
         std::all_of(host.begin(), host.end(), [](char c) { return base::is_letter_digit_or("-._:%", c); });
}

std::string describe(const ListenAddress& address) {
  return join_host_and_port(address.host, address.port);
}

}  // namespace

ListenAddress parse_listen_address(std::string_view text) {
  ListenAddress address;
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || (close + 1 < text.size() && text[close + 1] != ':')) {
      refuse(text);
    }
    host = text.substr(1, close - 1);
    has_port = close + 1 < text.size();
    port = has_port ? text.substr(close + 2) : port;
  } else if (const auto colons = std::count(text.begin(), text.end(), ':'); colons == 1) {
    host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
    has_port = true;
  } else if (colons == 0 && !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    host = address.host;
    port = text;
    has_port = true;
  }
  const std::optional<std::uint16_t> number =
      has_port ? base::parse_integer<std::uint16_t>(port) : std::optional(default_port);
  if (!is_name_or_address(host) || !number) {
    refuse(text);
  }
  address.host = host;
  address.port = *number;
  return address;
}

std::string join_host_and_port(const std::string& host, std::uint16_t port) {
  const bool has_colon = host.find(':') != std::string::npos;
  return (has_colon ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Listener::Listener(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failure != 0) {
    throw std::runtime_error(describe(address) + ": no address of that name (" + ::gai_strerror(failure) +
                             "); give one of this machine's with --listen");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  socket_ = base::FileDescriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  // Enough for a burst; the kernel makes clients beyond it retry.
  constexpr int queue = 512;
  if (!socket_ || ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket_.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket_.get(), queue) != 0) {
    const int error = errno;
    throw std::runtime_error(describe(address) + ": cannot listen there (" + std::strerror(error) + "); --listen " +
                             join_host_and_port(address.host, 0) + " takes any port that is free");
  }
  look_at_name();
}

void Listener::look_at_name() {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    throw std::runtime_error(std::string("cannot ask where the server listens: ") + std::strerror(errno));
  }
  char text[INET6_ADDRSTRLEN] = {};
  if (name.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &name, sizeof v6);
    port_ = ntohs(v6.sin6_port);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    is_loopback_ = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0 ||
                   (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) != 0 && v6.sin6_addr.s6_addr[12] == 127);
    is_wildcard_ = IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) != 0;
  } else {
    sockaddr_in v4{};
    std::memcpy(&v4, &name, sizeof v4);
    port_ = ntohs(v4.sin_port);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    is_loopback_ = (ntohl(v4.sin_addr.s_addr) >> 24U) == 127;
    is_wildcard_ = v4.sin_addr.s_addr == htonl(INADDR_ANY);
  }
  numeric_host_ = text;
}

void Listener::stop() const {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace kymo::serve
