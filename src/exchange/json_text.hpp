// JSON, written by hand into a growing string: texts that are always valid UTF-8, numbers that read back to the same
// value.
//
// No function here depends on the locale. None throws but std::bad_alloc. All may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::exchange {

/// Appends a text as it stands inside a JSON string, without the quotes around it: quotes, backslashes and control
/// characters escaped, each maximal piece that is not UTF-8 replaced by U+FFFD. About 0.3 ns a byte of plain ASCII.
void append_json_text(std::string& out, std::string_view text);

/// Appends a text with each maximal piece that is not UTF-8 replaced by U+FFFD; whether there was none.
bool append_valid_text(std::string& out, std::string_view text);

/// Appends a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

/// Appends the shortest number that reads back to the same double. NaN and infinity are not JSON: false, and nothing is
/// appended.
[[nodiscard]] bool append_json_number(std::string& out, double value);

/// Appends an integer in decimal.
void append_json_integer(std::string& out, std::int64_t value);
void append_json_integer(std::string& out, std::uint64_t value);

/// Appends a time or a duration in microseconds, exact to the nanosecond: 12345 ns is 12.345. About 10 ns.
void append_microseconds(std::string& out, std::int64_t time_ns);

/// Appends a duration in microseconds such that a reader that adds it to its start in doubles gets the very double that
/// it reads for the end. It has more decimals then where the sum of the exact ones is another, unless the end is later
/// than 50 days; rounded to the nanosecond it is exact as ever. About 10 ns, 150 ns with more decimals.
void append_duration_until_end(std::string& out, std::int64_t start_ns, std::int64_t duration_ns);

/// Appends an id as a JSON string, "0x1f": readers keep ids as doubles where they are numbers.
void append_json_id(std::string& out, std::uint64_t id);

}  // namespace kymo::exchange
