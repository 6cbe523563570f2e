#include "serve/live/messages.hpp"

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

}  // namespace

std::string describe_captures(const std::vector<CaptureState>& captures) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CaptureState& capture : captures) {
    list.push_back(json_of(capture, true));
  }
  return dump({{"captures", std::move(list)}});
}

std::string describe_event(std::string_view event, const CaptureState& capture) {
  std::string text = "event: ";
  text += event;
  text += "\ndata: ";
  text += dump(json_of(capture, event == "added"));  // one line, because JSON contains no raw line breaks
  text += "\n\n";
  return text;
}

}  // namespace kymo::serve
