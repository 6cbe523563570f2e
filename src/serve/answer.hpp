// Requests and answers, whatever speaks HTTP below them.
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
  std::string path;                 ///< decoded, without the query
  std::optional<std::string> host;  ///< nothing where there is not exactly one
  std::string authorization;
  std::string range;
  std::string fetch_site;                    ///< what the browser says of where the request comes from (Sec-Fetch-Site)
  std::map<std::string, std::string> query;  ///< the first of each name
};

/// A body that is made while it is sent, so that its memory is bounded.
class Body {
 public:
  enum class Step {
    more,
    done,
    failed,  ///< the connection is cut, which tells the client that something is missing
  };

  Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual ~Body() = default;

  /// Appends the next piece, about 64 KiB at most; none where nothing has happened for a while, so that it can be seen
  /// whether the client is still there.
  virtual Step next(std::string& piece) = 0;
};

struct Answer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;  ///< the body, where there is no `body`
  std::shared_ptr<Body> body;
  std::optional<std::uint64_t> body_size;  ///< of `body`; nothing: it is not known beforehand
};

/// The answer that refuses, with words for people.
[[nodiscard]] Answer refuse(int status);

using Answerer = std::function<Answer(const Request&)>;

/// What every answer carries: nothing but the page's own files may run, be shown or be talked to, no other site may
/// embed or read anything, nothing is kept.
[[nodiscard]] const std::vector<std::pair<std::string, std::string>>& common_headers();

}  // namespace kymo::serve
