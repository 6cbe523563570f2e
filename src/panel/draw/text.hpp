// Formats numbers and names for the panel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stats/common/value_text.hpp"

namespace kymo::panel {

/// Makes a name safe to show on one line: control characters become spaces, bytes that are not UTF-8 become '?', and
/// long names are cut at that many bytes with an ellipsis.
[[nodiscard]] std::string clean_text(std::string_view text, std::size_t most_bytes = 120);

/// A time for a ruler with that distance between ticks, with enough digits to distinguish them: "1.2345 s".
[[nodiscard]] std::string tick_text(std::int64_t time_ns, std::int64_t distance_ns);
/// "12.3 us", "1.5 s": four significant digits.
[[nodiscard]] std::string duration_text(std::int64_t duration_ns);
/// A value with its unit, four significant digits: "12.5 W", "61.24 MB"; "-" if it is not a number.
[[nodiscard]] std::string value_text(double value, std::string_view unit);
/// An integer with its unit: "12,345 splats".
[[nodiscard]] std::string integer_text(double value, std::string_view unit);
using stats::count_text;

/// Whether a text contains another one, ignoring the case of ASCII letters.
[[nodiscard]] bool contains_text(std::string_view text, std::string_view part);

}  // namespace kymo::panel
