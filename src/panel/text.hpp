// Numbers and names as the panel shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stats/value_text.hpp"

namespace kymo::panel {

/// A name that is safe to show on one line: control characters become spaces, bytes that are not UTF-8 become '?', and
/// it is cut, with an ellipsis, at so many bytes.
[[nodiscard]] std::string clean_text(std::string_view text, std::size_t most_bytes = 120);

/// A time on a ruler with ticks so far apart, as exact as it takes to tell them apart: "1.2345 s".
[[nodiscard]] std::string tick_text(std::int64_t time_ns, std::int64_t distance_ns);
/// "12.3 us", "1.5 s": four significant digits.
[[nodiscard]] std::string duration_text(std::int64_t duration_ns);
/// A value with its unit, four significant digits: "12.5 W", "61.24 MB"; "-" where it is not a number.
[[nodiscard]] std::string value_text(double value, std::string_view unit);
/// A whole number with its unit: "12,345 splats".
[[nodiscard]] std::string integer_text(double value, std::string_view unit);
using stats::count_text;

/// Whether a text holds another, regardless of the case of ASCII letters.
[[nodiscard]] bool contains_text(std::string_view text, std::string_view part);

}  // namespace kymo::panel
