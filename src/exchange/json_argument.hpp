// Arguments as JSON has them.
#pragma once

#include <string>
#include <string_view>

#include <kymo/events.hpp>

namespace kymo::exchange {

/// Appends an argument's value; `text` is that of the batch or list which it is from, of which it may claim anything.
/// False, with nothing appended, where JSON has no form for it: numbers that are not finite, strings that are not
/// there.
[[nodiscard]] bool append_json_argument(std::string& out, const ArgumentValue& value, std::string_view text);

}  // namespace kymo::exchange
