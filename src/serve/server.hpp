// Serves captures to browsers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/limits.hpp"
#include "serve/http/listen_address.hpp"

namespace kymo::serve {

struct ServerOptions {
  std::vector<std::string> paths;  ///< captures, and directories of them
  /// Answers /metrics in OpenMetrics text, from any thread; what it throws is a 503. Null: there is no /metrics.
  std::function<std::string()> metrics;
  ListenAddress address;
  bool asks_for_token = false;  ///< addresses other than loopback always require one
  std::string token;            ///< empty: generated if one is required
  std::filesystem::path page;   ///< the page's folder; if empty or without index.html, only captures are served
  Limits limits;
  /// The polling period for growing files.
  std::chrono::milliseconds look_period{50};
};

/// A running server. Serves from its own threads, at most `limits.connections` plus one, from construction to
/// destruction. Before that, block the signals that its owner waits for.
class Server {
 public:
  /// Throws CaptureError or std::runtime_error, which say what is wrong and what to do.
  explicit Server(ServerOptions options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Stops.
  ~Server();

  /// Ends every connection at once, streams too. Thread safe; later calls of the server's functions remain valid.
  void stop();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] bool is_loopback() const;
  /// The address to open in a browser. A token follows '#', which browsers do not send.
  [[nodiscard]] const std::string& url() const;
  [[nodiscard]] const std::string& token() const;
  /// Current number of captures.
  [[nodiscard]] std::size_t capture_count() const;
  /// Whether more captures were found than are served.
  [[nodiscard]] bool leaves_captures_out() const;
  /// Whether a page is available.
  [[nodiscard]] bool has_page() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo::serve
