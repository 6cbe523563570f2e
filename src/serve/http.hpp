// HTTP/1.1, by cpp-httplib: it takes requests apart and puts answers together. What it may read, and when it is enough,
// is decided outside of it.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "serve/answer.hpp"
#include "serve/client.hpp"

namespace kymo::serve {

class Http {
 public:
  /// `idle_time`: what clients are told of how long a connection stays open between two requests.
  Http(Answerer answerer, std::chrono::milliseconds idle_time);
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;
  ~Http();

  /// Answers one request, whose head is there and was checked (check_request_head). Whether the connection can be used
  /// for another. Thread safe, one call a client.
  bool exchange(Client& client, std::string_view head) const;

  /// Ends bodies that are being sent. Thread safe.
  void stop();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Writes an answer whose request nobody took apart, and closes the connection.
void write_refusal(Client& client, int status);

}  // namespace kymo::serve
