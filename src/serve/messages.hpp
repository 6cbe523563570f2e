// What the server says of captures, as JSON. Names come out as they are in it: what makes them harmless in a page is
// that it shows them as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/catalogue.hpp"

namespace kymo::serve {

/// {"captures":[{"id":0,"name":"run.kymo","size":123,"is_growing":true},...]}. What is not UTF-8 in a name is replaced.
[[nodiscard]] std::string describe_captures(const std::vector<CaptureState>& captures);

/// A server-sent event: "grown" with id, size and is_growing, or "added" with the name as well.
[[nodiscard]] std::string describe_event(std::string_view event, const CaptureState& capture);

}  // namespace kymo::serve
