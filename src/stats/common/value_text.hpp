// Numbers with their units as readable text, and long texts cut: in tables, pictures and the panel.
//
// Independent of the locale. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <kymo/export.hpp>

namespace kymo::stats {

struct NumberForm {
  int digits = 3;           ///< significant digits, 1 to 6
  bool keeps_zeros = true;  ///< "1.50" instead of "1.5", to align columns
};

/// "0 ns", "850 ns", "12.3 us", "4.56 ms", "7.89 s", "12 min 5 s", "3 h 7 min"; "-" if it is not finite.
[[nodiscard]] KYMO_API std::string duration_text(double duration_ns, NumberForm form = {});

/// A metric value, "-" if it is not finite: "61.2 MB", "850 uJ", "3.2 GHz", "0.72". From ten million on, units without
/// a prefix for thousands use an exponent. Nanoseconds are durations; the unit "1" is omitted. The unit is used
/// unchanged.
[[nodiscard]] KYMO_API std::string value_text(double value, std::string_view unit, NumberForm form = {});

/// "1,234,567".
[[nodiscard]] KYMO_API std::string count_text(std::uint64_t count);

/// At most so many bytes of a text, whole characters, and "..." after them.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t most);

}  // namespace kymo::stats
