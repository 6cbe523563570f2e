// Arguments as JSON values.
#pragma once

#include <string>
#include <string_view>

#include <kymo/events.hpp>

namespace kymo::exchange {

/// Appends an argument's value. `text` is the text of the batch or list that holds the argument; the offsets in the
/// argument are not trusted. Returns false and appends nothing if JSON cannot represent the value: a number that is not
/// finite, or a string outside `text`.
[[nodiscard]] bool append_json_argument(std::string& out, const ArgumentValue& value, std::string_view text);

}  // namespace kymo::exchange
