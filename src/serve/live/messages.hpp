// The server's JSON descriptions of captures. Names are not escaped for HTML: the page shows them as text, which makes
// them harmless.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/live/catalogue.hpp"

namespace kymo::serve {

/// {"captures":[{"id":0,"name":"run.kymo","size":123,"is_growing":true},...]}. Replaces bytes of a name that are not
/// UTF-8.
[[nodiscard]] std::string describe_captures(const std::vector<CaptureState>& captures);

/// A server-sent event: "grown" with id, size and is_growing, or "added" with the name as well.
[[nodiscard]] std::string describe_event(std::string_view event, const CaptureState& capture);

}  // namespace kymo::serve
