// Appends JSON to a string. Texts are always valid UTF-8, and numbers read back as the same value.
//
// No function here depends on the locale or throws anything but std::bad_alloc. All may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::base {

/// Which characters of a JSON string are escaped.
enum class JsonEscapes {
  harmless,  ///< also the other control characters (look_at_control), which terminals obey
  minimal,   ///< those that JSON demands: quotes, backslashes, C0. For texts whose hash others compute too
};

/// Appends the content of a JSON string, without quotes, and replaces each maximal piece that is not UTF-8 with U+FFFD.
/// About 0.3 ns per byte of plain ASCII.
void append_json_text(std::string& out, std::string_view text, JsonEscapes escapes = JsonEscapes::harmless);

/// Appends a text and replaces each maximal piece that is not UTF-8 with U+FFFD. Returns true if nothing was replaced.
bool append_valid_text(std::string& out, std::string_view text);

/// Appends a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

/// Appends the shortest number that reads back as the same double. Returns false and appends nothing for NaN and
/// infinity, which JSON lacks.
[[nodiscard]] bool append_json_number(std::string& out, double value);

/// Appends an integer in decimal.
void append_json_integer(std::string& out, std::int64_t value);
void append_json_integer(std::string& out, std::uint64_t value);

/// Appends a time or a duration in microseconds, exact to the nanosecond: 12345 ns is 12.345. About 10 ns.
void append_microseconds(std::string& out, std::int64_t time_ns);

/// Appends a duration in microseconds such that a reader who adds it to the start in doubles gets exactly the double it
/// reads for the end. The duration gets more decimals if the sum would differ otherwise, unless the end is later than
/// 50 days. Rounded to the nanosecond it stays exact. About 10 ns, 150 ns with more decimals.
void append_duration_until_end(std::string& out, std::int64_t start_ns, std::int64_t duration_ns);

/// Appends an id as a JSON string, "0x1f", because readers store numbers as doubles.
void append_json_id(std::string& out, std::uint64_t id);

}  // namespace kymo::base
