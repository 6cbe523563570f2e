// HTTP/1.1 by cpp-httplib, which parses requests and composes answers. Its callers control the input and the limits.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "serve/http/answer.hpp"
#include "serve/http/client.hpp"

namespace kymo::serve {

class Http {
 public:
  /// `idle_time`: the time a connection stays open between requests, as announced to clients.
  Http(Answerer answerer, std::chrono::milliseconds idle_time);
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;
  ~Http();

  /// Answers one request whose head was read and checked (check_request_head). Returns whether the connection can be
  /// used again. Thread safe, one call per client.
  bool exchange(Client& client, std::string_view head) const;

  /// Aborts the bodies being sent. Thread safe.
  void stop();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Writes an answer to an unparsed request and closes the connection.
void write_refusal(Client& client, int status);

}  // namespace kymo::serve
