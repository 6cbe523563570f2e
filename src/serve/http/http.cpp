// The only file that uses cpp-httplib, and only for the steps between a request's bytes and an answer's bytes. Sockets,
// threads and limits are kymo's, because the library's own connections accept an endless line sent byte by byte.
#include "serve/http/http.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include <httplib.h>

#include "serve/http/request_head.hpp"

namespace kymo::serve {
namespace {

/// Where Accept-Encoding is kept from the library.
constexpr const char* encodings_header = "Kymo-Encodings";

/// The bytes of one request, and access to its client.
class HttpStream final : public httplib::Stream {
 public:
  HttpStream(Client& client, std::string_view head) : client_(client), head_(head) {}

  [[nodiscard]] bool has_failed() const { return has_failed_; }

  // The library's version determines which of these are virtual.
  // NOLINTBEGIN(modernize-use-override)
  bool is_readable() const { return !head_.empty(); }
  bool wait_readable() const { return !head_.empty(); }
  bool is_writable() const { return !has_failed_ && client_.is_there(); }
  bool wait_writable() const { return is_writable(); }
  ssize_t read(char* bytes, std::size_t size) {
    const std::size_t count = std::min(size, head_.size());
    std::copy_n(head_.data(), count, bytes);
    head_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, std::size_t size) {
    has_failed_ = has_failed_ || !client_.write({bytes, size});
    return has_failed_ ? -1 : static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const {}
  socket_t socket() const { return client_.fd(); }
  time_t duration() const { return 0; }
  // NOLINTEND(modernize-use-override)

 private:
  Client& client_;
  std::string_view head_;
  bool has_failed_ = false;
};

Request to_request(const httplib::Request& from) {
  Request request;
  request.path = from.path;
  if (from.get_header_value_count("Host") == 1) {
    request.host = from.get_header_value("Host");
  }
  if (const auto count = from.get_header_value_count("Origin"); count > 0) {
    request.origin = count == 1 ? from.get_header_value("Origin") : std::string();
  }
  // If there are two, neither counts.
  if (from.get_header_value_count("Authorization") == 1) {
    request.authorization = from.get_header_value("Authorization");
  }
  request.range = from.get_header_value("Range");
  request.encodings = from.get_header_value(encodings_header);
  request.known_tags = from.get_header_value("If-None-Match");
  request.fetch_site = from.get_header_value("Sec-Fetch-Site");
  for (const auto& [name, value] : from.params) {
    request.query.emplace(name, value);
  }
  return request;
}

/// Sends the next piece of a body. Returning false cuts the connection.
bool send_piece(Body& body, httplib::DataSink& sink, bool has_known_size) {
  try {
    std::string piece;
    const Body::Step step = body.next(piece);
    if (step == Body::Step::failed || (piece.empty() && step == Body::Step::more && !sink.is_writable()) ||
        (!piece.empty() && !sink.write(piece.data(), piece.size()))) {
      return false;
    }
    if (step == Body::Step::done && !has_known_size) {
      sink.done();
    }
    return true;
  } catch (const std::exception&) {
    return false;  // the file is unreadable or memory is exhausted: the client sees a truncated body
  }
}

void write_answer(const Answer& answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) {
    response.headers.erase(name);  // of those that every answer has
    response.set_header(name, value);
  }
  const std::shared_ptr<Body> body = answer.body;
  if (body == nullptr) {
    response.set_content(answer.text, answer.content_type);
  } else if (answer.body_size) {
    response.set_content_provider(
        static_cast<std::size_t>(*answer.body_size), answer.content_type,
        [body](std::size_t, std::size_t, httplib::DataSink& sink) { return send_piece(*body, sink, true); });
  } else {
    response.set_chunked_content_provider(
        answer.content_type, [body](std::size_t, httplib::DataSink& sink) { return send_piece(*body, sink, false); });
  }
}

}  // namespace

class Http::Implementation final : public httplib::Server {
 public:
  Implementation(Answerer answerer, std::chrono::milliseconds idle_time) : answerer_(std::move(answerer)) {
    // The library treats this as its listening socket; without one it assumes a shutdown.
    svr_sock_ = 0;
    set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(idle_time).count());
    set_keep_alive_max_count(1'000'000);
    httplib::Headers headers;
    for (const auto& [name, value] : common_headers()) {
      headers.emplace(name, value);
    }
    set_default_headers(std::move(headers));
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      write_answer(answer(request), response);
      return HandlerResponse::Handled;
    });
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) {
        response.set_content(std::string(explain_status(response.status)), "text/plain; charset=utf-8");
      }
    });
  }

  bool exchange(Client& client, std::string_view head) {
    HttpStream stream(client, head);
    bool is_closed = false;
    // Ranges and compression are not the library's: captures are compressed already, and so is the page.
    const auto set_up = [](httplib::Request& request) {
      request.ranges.clear();
      const std::string encodings = request.get_header_value("Accept-Encoding");
      request.headers.erase("Accept-Encoding");
      request.headers.erase(encodings_header);
      request.headers.emplace(encodings_header, encodings);
      request.headers.erase("Expect");
    };
    return process(*this, stream, is_closed, set_up) && !is_closed && !stream.has_failed();
  }

  void stop_bodies() { svr_sock_ = INVALID_SOCKET; }

 private:
  // Later versions want the addresses of both sides, which nothing here uses.
  template <typename Self, typename SetUp>
  static bool process(Self& self, HttpStream& stream, bool& is_closed, const SetUp& set_up) {
    if constexpr (requires { self.process_request(stream, false, is_closed, set_up); }) {
      return self.process_request(stream, false, is_closed, set_up);
    } else {
      return self.process_request(stream, "", 0, "", 0, false, is_closed, set_up);
    }
  }

  Answer answer(const httplib::Request& request) const {
    try {
      return answerer_(to_request(request));
    } catch (const std::exception&) {
      return refuse(500);  // without the message, which may contain paths
    }
  }

  Answerer answerer_;
};

Http::Http(Answerer answerer, std::chrono::milliseconds idle_time)
    : implementation_(std::make_unique<Implementation>(std::move(answerer), idle_time)) {}

Http::~Http() = default;

bool Http::exchange(Client& client, std::string_view head) const {
  return implementation_->exchange(client, head);
}

void Http::stop() {
  implementation_->stop_bodies();
}

void write_refusal(Client& client, int status) {
  const Answer answer = refuse(status);
  std::string text = "HTTP/1.1 " + std::to_string(status) +
                     " Refused\r\nConnection: close\r\nContent-Type: " + answer.content_type +
                     "\r\nContent-Length: " + std::to_string(answer.text.size()) + "\r\n";
  for (const auto* const headers : {&common_headers(), &answer.headers}) {
    for (const auto& [name, value] : *headers) {
      text += name + ": " + value + "\r\n";
    }
  }
  if (client.write(text + "\r\n" + answer.text)) {
    client.end();
  }
}

}  // namespace kymo::serve
