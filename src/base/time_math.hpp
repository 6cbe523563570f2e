// Arithmetic on arbitrary times, as damaged captures may hold any.
#pragma once

#include <cstdint>
#include <limits>

namespace kymo::base {

/// Adds a length to a time, saturated. A negative length counts as 0.
[[nodiscard]] constexpr std::int64_t add_length(std::int64_t time_ns, std::int64_t length_ns) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (length_ns <= 0) {
    return time_ns;
  }
  return time_ns > most - length_ns ? most : time_ns + length_ns;
}

/// Subtracts a length from a time, saturated. A negative length counts as 0.
[[nodiscard]] constexpr std::int64_t subtract_length(std::int64_t time_ns, std::int64_t length_ns) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  if (length_ns <= 0) {
    return time_ns;
  }
  return time_ns < least + length_ns ? least : time_ns - length_ns;
}

/// The length from one time to a later one, saturated; 0 if it is not later.
[[nodiscard]] constexpr std::int64_t length_between(std::int64_t start_ns, std::int64_t end_ns) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (end_ns <= start_ns) {
    return 0;
  }
  const auto length = static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
  return length > static_cast<std::uint64_t>(most) ? most : static_cast<std::int64_t>(length);
}

}  // namespace kymo::base
