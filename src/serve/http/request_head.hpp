// Checks requests before they are parsed.
#pragma once

#include <string_view>

namespace kymo::serve {

/// Checks the bytes of a request up to and including its empty line: it must be GET or HEAD, without a body, with few
/// and short enough lines. Every line must have the one form that all readers split alike, because a proxy in front
/// could otherwise see other requests than the server. Returns 0, or the status to refuse it with.
[[nodiscard]] int check_request_head(std::string_view head);

/// The meaning of a refusal and what to do, for a person who reads it in a browser or a terminal. Empty for a status
/// that kymo does not use.
[[nodiscard]] std::string_view explain_status(int status);

}  // namespace kymo::serve
