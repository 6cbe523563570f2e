// The address on which the server listens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/system/file.hpp"

namespace kymo::serve {

constexpr std::uint16_t default_port = 7878;

struct ListenAddress {
  std::string host = "127.0.0.1";     ///< a name or an address; IPv6 without brackets
  std::uint16_t port = default_port;  ///< 0: any free port
};

/// Parses "HOST", "HOST:PORT", "PORT" or "[ADDRESS]:PORT". Throws std::invalid_argument, which explains the format.
[[nodiscard]] ListenAddress parse_listen_address(std::string_view text);

/// "HOST:PORT", with brackets around an IPv6 address.
[[nodiscard]] std::string join_host_and_port(const std::string& host, std::uint16_t port);

/// A listening socket.
class Listener {
 public:
  /// Resolves, binds and listens. Throws std::runtime_error, which says what to do.
  explicit Listener(const ListenAddress& address);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// The numeric address.
  [[nodiscard]] const std::string& numeric_host() const { return numeric_host_; }
  /// Whether only this machine can reach it.
  [[nodiscard]] bool is_loopback() const { return is_loopback_; }
  /// Whether it listens on every address of the machine.
  [[nodiscard]] bool is_wildcard() const { return is_wildcard_; }
  /// Wakes all threads in accept(2). No more connections are accepted.
  void stop() const;

 private:
  void look_at_name();

  base::FileDescriptor socket_;
  std::uint16_t port_ = 0;
  std::string numeric_host_;
  bool is_loopback_ = false;
  bool is_wildcard_ = false;
};

}  // namespace kymo::serve
