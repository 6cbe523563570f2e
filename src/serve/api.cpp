#include "serve/api.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/text/number_text.hpp"
#include "base/text/pattern_list.hpp"
#include "serve/http/byte_range.hpp"
#include "serve/http/token.hpp"
#include "serve/live/bodies.hpp"
#include "serve/live/outline.hpp"

namespace kymo::serve {
namespace {

constexpr std::string_view api_prefix = "/api/";
constexpr std::string_view captures_prefix = "/api/captures/";
constexpr std::string_view metrics_path = "/metrics";
constexpr std::string_view outline_suffix = "/outline";
constexpr const char* bytes_type = "application/octet-stream";

/// Removes a prefix or a suffix from a text.
bool take_prefix(std::string_view& text, std::string_view prefix) {
  const bool is_there = text.starts_with(prefix);
  text.remove_prefix(is_there ? prefix.size() : 0);
  return is_there;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  const bool is_there = text.ends_with(suffix);
  text.remove_suffix(is_there ? suffix.size() : 0);
  return is_there;
}

/// Whether a header that is a list ("gzip, br;q=0.5") has an item, and does not exclude it by the weight 0.
bool lists(std::string_view header, std::string_view item) {
  while (!header.empty()) {
    std::string_view entry = base::take_item(header);
    entry.remove_prefix(std::min(entry.find_first_not_of(" \t"), entry.size()));
    take_prefix(entry, "W/");  // of a weak tag: the forms that are compressed and not count as the same
    if (take_prefix(entry, item) && (entry.empty() || std::string_view(" \t;").find(entry.front()) != entry.npos)) {
      const std::string_view weight = entry.substr(std::min(entry.find_first_not_of(" \t;"), entry.size()));
      return weight.empty() || weight.find_first_not_of("q=0. ") != weight.npos;
    }
  }
  return false;
}

}  // namespace

Api::Api(const Catalogue& catalogue, const GrowthWatch& watch, HostCheck hosts, std::string token, PageFiles page,
         Metrics metrics, const Limits& limits)
    : catalogue_(catalogue),
      watch_(watch),
      hosts_(std::move(hosts)),
      token_(std::move(token)),
      page_(std::move(page)),
      metrics_(std::move(metrics)),
      limits_(limits) {}

Answer Api::answer(const Request& request) {
  if (!request.host || !hosts_.allows(*request.host)) {
    return refuse(403);
  }
  // Nothing links to a page with an Origin of its own, so this holds for every path, also for browsers and proxies that
  // leave Sec-Fetch-Site out. The scheme may be that of a proxy in front.
  if (request.origin && *request.origin != "http://" + *request.host && *request.origin != "https://" + *request.host) {
    return refuse(403);
  }
  const bool is_metrics = metrics_ && request.path == metrics_path;
  if (!is_metrics && !request.path.starts_with(api_prefix)) {
    return answer_page(request);
  }
  // A page from another site cannot read the response, and must not cause work on this machine.
  if (request.fetch_site == "cross-site" || request.fetch_site == "same-site") {
    return refuse(403);
  }
  if (!token_.empty() && !carries_token(request.authorization, token_)) {
    return refuse(401);
  }
  return is_metrics ? answer_metrics() : answer_api(request);
}

Answer Api::answer_metrics() const {
  Answer answer;
  try {
    answer.text = metrics_();
  } catch (const std::exception&) {
    return refuse(503);
  }
  answer.content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
  return answer;
}

Answer Api::answer_page(const Request& request) const {
  const auto file = page_.find(request.path);
  if (file == page_.end()) {
    Answer missing = refuse(404);
    if (page_.empty() && request.path == "/") {
      missing.text =
          "The page is not installed beside this kymo: it was built without Emscripten. Run scripts/bootstrap.sh web, "
          "build and install kymo again, or start kymo serve with --page DIR. The captures are served below /api.\n";
    }
    return missing;
  }
  const PageFile& found = file->second;
  const bool is_packed = !found.gzip.empty() && lists(request.encodings, "gzip");
  Answer answer;
  answer.content_type = found.content_type;
  // Browsers keep the file and ask each time whether it still is the same.
  answer.headers = {{"Cache-Control", "no-cache"}, {"ETag", "W/" + found.tag}, {"Vary", "Accept-Encoding"}};
  if (lists(request.known_tags, found.tag)) {
    answer.status = 304;
    return answer;
  }
  if (is_packed) {
    answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  answer.text = is_packed ? found.gzip : found.bytes;
  return answer;
}

Answer Api::answer_api(const Request& request) {
  if (request.path == "/api/captures") {
    Answer answer;
    answer.content_type = "application/json";
    answer.text = describe_captures(catalogue_.captures());
    return answer;
  }
  if (request.path == "/api/events") {
    return answer_events();
  }
  std::string_view rest = request.path;
  if (!take_prefix(rest, captures_prefix)) {
    return refuse(404);
  }
  const bool is_outline = take_suffix(rest, outline_suffix);
  const std::optional<std::uint64_t> id = base::parse_integer<std::uint64_t>(rest);
  if (!id) {
    return refuse(404);
  }
  return is_outline ? answer_outline(*id, request) : answer_capture(*id, request);
}

Answer Api::answer_capture(std::size_t id, const Request& request) const {
  const std::shared_ptr<const capture::ByteSource> file = catalogue_.open(id);
  if (file == nullptr) {
    return refuse(404);
  }
  const std::uint64_t file_size = file->size();
  const ByteRange range = parse_byte_range(request.range, file_size);
  if (range.kind == ByteRange::Kind::unsatisfiable) {
    Answer refused = refuse(416);
    refused.headers.emplace_back("Content-Range", "bytes */" + std::to_string(file_size));
    return refused;
  }
  if (range.size > limits_.response_bytes) {
    return refuse(413);
  }
  Answer answer;
  answer.content_type = bytes_type;
  answer.headers.emplace_back("Accept-Ranges", "bytes");
  answer.body = std::make_shared<FileBody>(file, range.offset, range.size);
  answer.body_size = range.size;
  if (range.kind == ByteRange::Kind::part) {
    answer.status = 206;
    answer.headers.emplace_back("Content-Range", "bytes " + std::to_string(range.offset) + "-" +
                                                     std::to_string(range.offset + range.size - 1) + "/" +
                                                     std::to_string(file_size));
  }
  return answer;
}

Answer Api::answer_outline(std::size_t id, const Request& request) const {
  const auto from_text = request.query.find("from");
  const std::optional<std::uint64_t> from = from_text == request.query.end()
                                                ? std::optional<std::uint64_t>(0)
                                                : base::parse_integer<std::uint64_t>(from_text->second);
  if (!from) {
    return refuse(400);
  }
  const std::shared_ptr<const capture::ByteSource> file = catalogue_.open(id);
  if (file == nullptr) {
    return refuse(404);
  }
  if (*from > file->size()) {
    return refuse(416);
  }
  Answer answer;
  answer.content_type = bytes_type;
  answer.body = std::make_shared<OutlineBody>(file, *from, limits_.outline_bytes);
  return answer;
}

Answer Api::answer_events() {
  if (event_streams_.fetch_add(1) >= limits_.event_streams) {
    --event_streams_;
    return refuse(503);
  }
  Answer answer;
  answer.content_type = "text/event-stream";
  answer.body = std::make_shared<EventBody>(catalogue_, watch_, limits_, event_streams_);
  return answer;
}

}  // namespace kymo::serve
