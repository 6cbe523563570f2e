// What a request may look like before anything is made of it.
#pragma once

#include <string_view>

namespace kymo::serve {

/// Looks at the bytes of a request up to and with its empty line: one of GET and HEAD, without a body, of lines that
/// are not too many nor too long to be parsed. 0, or the status to refuse it with.
[[nodiscard]] int check_request_head(std::string_view head);

/// What a refusal means, and what to do, for a person who reads it in a browser or a terminal. Empty for a status that
/// is not one of ours.
[[nodiscard]] std::string_view explain_status(int status);

}  // namespace kymo::serve
