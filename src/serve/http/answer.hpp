// Requests and answers, independent of the HTTP implementation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kymo::serve {

struct Request {
  std::string path;                   ///< decoded, without the query
  std::optional<std::string> host;    ///< nothing unless there is exactly one
  std::optional<std::string> origin;  ///< nothing if there is none; empty if there are several
  std::string authorization;
  std::string range;
  std::string encodings;                     ///< what the client decodes (Accept-Encoding)
  std::string known_tags;                    ///< of the forms that the client has (If-None-Match)
  std::string fetch_site;                    ///< the browser's report on the request's origin (Sec-Fetch-Site)
  std::map<std::string, std::string> query;  ///< the first of each name
};

/// A body that is generated while it is sent, so its memory is bounded.
class Body {
 public:
  enum class Step {
    more,
    done,
    failed,  ///< the connection is cut, so the client notices that the body is incomplete
  };

  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;

  /// Appends the next piece, about 64 KiB at most. Appends nothing if nothing has happened for a while, so that the
  /// connection can be checked.
  virtual Step next(std::string& piece) = 0;
};

struct Answer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;  ///< the body if `body` is not set
  std::shared_ptr<Body> body;
  std::optional<std::uint64_t> body_size;  ///< of `body`; nothing: unknown in advance
};

/// An answer that refuses a request, with an explanation for people.
[[nodiscard]] Answer refuse(int status);

using Answerer = std::function<Answer(const Request&)>;

/// The headers of every answer: only the page's own files may be executed, shown or contacted; no other site may embed
/// or read anything; nothing is kept, unless the answer has a Cache-Control of its own.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& common_headers();

}  // namespace kymo::serve
