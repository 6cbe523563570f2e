// Numbers with their units as people read them: in tables, pictures and the panel alike.
//
// None depends on the locale. All may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <kymo/export.hpp>

namespace kymo::stats {

struct NumberForm {
  int digits = 3;           ///< significant ones, 1 to 6
  bool keeps_zeros = true;  ///< "1.50" rather than "1.5": columns of them line up
};

/// "0 ns", "850 ns", "12.3 us", "4.56 ms", "7.89 s", "12 min 5 s", "3 h 7 min"; "-" where it is not finite.
[[nodiscard]] KYMO_API std::string duration_text(double duration_ns, NumberForm form = {});

/// A value of a metric, "-" where it is not finite: "61.2 MB", "850 uJ", "3.2 GHz", "0.72"; with an exponent from ten
/// million on where thousands of the unit have no name. Nanoseconds are durations; the unit "1" is none. The unit is
/// taken as it is.
[[nodiscard]] KYMO_API std::string value_text(double value, std::string_view unit, NumberForm form = {});

/// "1,234,567".
[[nodiscard]] KYMO_API std::string count_text(std::uint64_t count);

}  // namespace kymo::stats
