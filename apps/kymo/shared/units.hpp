// Formats numbers for people.
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
/// A number of any magnitude with at most six significant digits.
[[nodiscard]] std::string format_value(double value);
/// "12.3 %" of a whole; "-" if the whole is 0.
[[nodiscard]] std::string format_share(double part, double whole);
/// "1 scope", "2 scopes", "2 processes".
[[nodiscard]] std::string format_plural(std::uint64_t count, std::string_view noun);

/// A fact about a run: a number with the unit of the key's ending ("_ns", "_bytes"), else the printable value.
[[nodiscard]] std::string format_fact(std::string_view key, const std::string& value);

/// Makes a text from a capture safe for a terminal: control characters become "\x1b", bytes that are not UTF-8 become
/// U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);
/// The same, cut to at most `width` columns with an ellipsis.
[[nodiscard]] std::string printable(std::string_view text, std::size_t width);
/// A printable text cut in its middle with an ellipsis to at most `width` columns, which is at least 1.
[[nodiscard]] std::string cut_middle(std::string_view text, std::size_t width);
/// The number of columns of a printable text, which is its number of code points.
[[nodiscard]] std::size_t width_of(std::string_view text);

}  // namespace kymo::command
