#include "serve/live/bodies.hpp"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

namespace kymo::serve {
namespace {

nlohmann::ordered_json json_of(const CaptureState& capture, bool with_name) {
  nlohmann::ordered_json json;
  json["id"] = capture.id;
  if (with_name) {
    json["name"] = capture.name;
  }
  json["size"] = capture.size;
  json["is_growing"] = capture.is_growing;
  return json;
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// A server-sent event: "grown" with id, size and is_growing, or "added" with the name as well.
std::string describe_event(std::string_view event, const CaptureState& capture) {
  std::string text = "event: ";
  text += event;
  text += "\ndata: ";
  text += dump(json_of(capture, event == "added"));  // one line, because JSON contains no raw line breaks
  text += "\n\n";
  return text;
}

}  // namespace

std::string describe_captures(const std::vector<CaptureState>& captures) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CaptureState& capture : captures) {
    list.push_back(json_of(capture, true));
  }
  return dump({{"captures", std::move(list)}});
}

FileBody::FileBody(std::shared_ptr<const capture::ByteSource> file, std::uint64_t offset, std::uint64_t size)
    : file_(std::move(file)), offset_(offset), left_(size) {}

Body::Step FileBody::next(std::string& piece) {
  constexpr std::uint64_t part = 64 << 10;
  const std::size_t size = static_cast<std::size_t>(std::min(left_, part));
  const std::size_t start = piece.size();
  piece.resize(start + size);
  if (size != 0 && file_->read(offset_, std::as_writable_bytes(std::span(piece)).subspan(start)) != size) {
    return Step::failed;  // the file was truncated
  }
  offset_ += size;
  left_ -= size;
  return left_ == 0 ? Step::done : Step::more;
}

EventBody::EventBody(const Catalogue& catalogue, const GrowthWatch& watch, const Limits& limits,
                     std::atomic<unsigned>& streams)
    : catalogue_(catalogue), watch_(watch), limits_(limits), streams_(streams) {}

EventBody::~EventBody() {
  --streams_;
}

Body::Step EventBody::next(std::string& piece) {
  // Often enough to notice soon that a page was closed, because another one may wait for its place.
  constexpr std::chrono::milliseconds nap{250};
  const auto now = std::chrono::steady_clock::now();
  if (!has_begun_) {
    has_begun_ = true;
    generation_ = catalogue_.generation();
    for (const CaptureState& capture : catalogue_.captures()) {
      piece += describe_event("grown", capture);
    }
  } else if (watch_.wait(generation_, std::min(nap, limits_.heartbeat))) {
    for (const CaptureChange& change : catalogue_.changes_since(generation_)) {
      piece += describe_event(change.is_new ? "added" : "grown", change.state);
    }
  } else if (now - last_words_ >= limits_.heartbeat) {
    piece += ":\n\n";
  }
  if (!piece.empty()) {
    last_words_ = now;
  }
  return Step::more;
}

}  // namespace kymo::serve
