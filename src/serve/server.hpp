// Shows captures to browsers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "serve/limits.hpp"
#include "serve/listen_address.hpp"

namespace kymo::serve {

struct ServerOptions {
  std::vector<std::string> paths;  ///< captures, and directories of them
  ListenAddress address;
  bool asks_for_token = false;  ///< any address but loopback asks for one all the same
  std::string token;            ///< empty: one is made where one is needed
  std::filesystem::path page;   ///< the page's folder; empty or without index.html: captures only
  Limits limits;
  /// How often to look at files that grow.
  std::chrono::milliseconds look_period{50};
};

/// A running server. Serves from threads of its own, at most `limits.connections` and one, from when it is made until
/// it is destroyed. Block the signals that its owner waits for before.
class Server {
 public:
  /// CaptureError, std::runtime_error: what is wrong, and what to do.
  explicit Server(ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Stops.
  ~Server();

  /// Ends every connection at once, streams too. Thread safe; what is called on the server afterwards stays right.
  void stop();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] bool is_loopback() const;
  /// What to open in a browser; the token, where there is one, stands behind its '#', which browsers do not send.
  [[nodiscard]] const std::string& url() const;
  [[nodiscard]] const std::string& token() const;
  /// How many captures there are now.
  [[nodiscard]] std::size_t capture_count() const;
  /// Whether more captures were found than are served.
  [[nodiscard]] bool leaves_captures_out() const;
  /// Whether there is a page to show.
  [[nodiscard]] bool has_page() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo::serve
