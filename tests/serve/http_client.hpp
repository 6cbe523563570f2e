// A client that says to a server, byte by byte, what a test wants said, and reads what comes back. It shares nothing
// with the server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/system/file.hpp"

namespace kymo::test {

struct HttpReply {
  int status = 0;                              ///< 0: the connection was closed without an answer
  std::map<std::string, std::string> headers;  ///< names in small letters
  std::string body;
  bool is_whole = false;
};

class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port, int receive_buffer = 0)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{30, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive_buffer != 0) {
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("cannot connect");
    }
  }

  void send(std::string_view text) const {
    // The server may have closed the connection already, which is for what is read afterwards to show.
    static_cast<void>(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL));
  }

  /// Sends a request of one method and path with headers ("Name: value\r\n"...).
  void request(const std::string& path, const std::string& headers = {}, const std::string& method = "GET") const {
    send(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }

  HttpReply read_reply(bool has_body = true) {
    HttpReply reply;
    if (!fill_until("\r\n\r\n")) {
      return reply;
    }
    read_head(reply);
    if (!has_body) {
      reply.is_whole = true;
    } else if (reply.headers["transfer-encoding"] == "chunked") {
      while (read_chunk(reply.body)) {
      }
      reply.is_whole = last_chunk_was_end_;
    } else {
      const std::size_t size = std::stoul("0" + reply.headers["content-length"]);
      reply.is_whole = fill(size);
      reply.body = take(std::min(size, buffer_.size()));
    }
    return reply;
  }

  HttpReply read_reply_head() {
    HttpReply reply;
    if (fill_until("\r\n\r\n")) {
      read_head(reply);
    }
    return reply;
  }

  /// Reads chunks until a text stands in what came; that, or an empty text where the stream ended first.
  std::string read_chunks_until(std::string_view text) {
    std::string body;
    while (body.find(text) == std::string::npos) {
      if (!read_chunk(body)) {
        return {};
      }
    }
    return body;
  }

  /// Whether the server closes the connection, whatever it sends before.
  bool reads_end() {
    while (receive()) {
      buffer_.clear();
    }
    return is_at_end_;
  }

 private:
  bool receive() {
    std::vector<char> bytes(65536);
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    is_at_end_ = count == 0 || (count < 0 && errno == ECONNRESET);
    buffer_.append(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    return count > 0;
  }
  bool fill(std::size_t size) {
    while (buffer_.size() < size && receive()) {
    }
    return buffer_.size() >= size;
  }
  bool fill_until(std::string_view text) {
    while (buffer_.find(text) == std::string::npos) {
      if (!receive()) {
        return false;
      }
    }
    return true;
  }
  std::string take(std::size_t size) {
    std::string taken = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return taken;
  }
  void read_head(HttpReply& reply) {
    const std::string head = take(buffer_.find("\r\n\r\n") + 4);
    reply.status = std::stoi(head.substr(9, 3));
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      for (char& c : name) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
      reply.headers[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
  }
  bool read_chunk(std::string& body) {
    if (!fill_until("\r\n")) {
      return false;
    }
    const std::size_t size = std::stoul(take(buffer_.find("\r\n") + 2), nullptr, 16);
    last_chunk_was_end_ = size == 0;
    if (!fill(size + 2)) {
      return false;
    }
    body += take(size);
    take(2);
    return size != 0;
  }

  base::FileDescriptor socket_;
  std::string buffer_;
  bool is_at_end_ = false;
  bool last_chunk_was_end_ = false;
};

}  // namespace kymo::test
