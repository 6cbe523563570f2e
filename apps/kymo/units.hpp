// Numbers for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::command {

/// "0 ns", "850 ns", "12.3 us", "4.56 ms", "7.89 s", "12 min 5 s": three significant digits.
[[nodiscard]] std::string format_duration(double duration_ns);
/// "512 B", "4.10 kB", "12.4 MB": powers of 1000.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
/// "850 uJ", "12.3 mJ", "4.56 J", "7.89 kJ": three significant digits.
[[nodiscard]] std::string format_joules(double joules);
/// "1,234,567".
[[nodiscard]] std::string format_count(std::uint64_t count);
/// A number of any size with at most six significant digits.
[[nodiscard]] std::string format_value(double value);
/// "12.3 %" of a whole; "-" where the whole is 0.
[[nodiscard]] std::string format_share(double part, double whole);
/// "1 scope", "2 scopes", "2 processes".
[[nodiscard]] std::string format_plural(std::uint64_t count, std::string_view noun);

/// A fact about a run: a number by the unit that its key ends in ("_ns", "_bytes"), else the value, printable.
[[nodiscard]] std::string format_fact(std::string_view key, const std::string& value);

/// A text from a capture for a terminal: control characters come out as "\x1b", what is not UTF-8 as U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);
/// The same, at most `width` columns, with an ellipsis where it is longer.
[[nodiscard]] std::string printable(std::string_view text, std::size_t width);
/// Columns of a printable text: its code points.
[[nodiscard]] std::size_t width_of(std::string_view text);

}  // namespace kymo::command
