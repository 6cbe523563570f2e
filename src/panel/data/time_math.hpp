// Arithmetic on arbitrary times, as damaged captures may hold any.
#pragma once

#include <cstdint>
#include <limits>

#include <kymo/timeline.hpp>

namespace kymo::panel {

/// Whether a stretch of time, including its end, intersects a range.
[[nodiscard]] inline bool overlaps(std::int64_t start_ns, std::int64_t end_ns, TimeRange range) {
  return start_ns <= range.end_ns && end_ns >= range.start_ns;
}

/// The length from one time to a later one, saturated; 0 if it is not later.
[[nodiscard]] inline std::int64_t length_between(std::int64_t start_ns, std::int64_t end_ns) {
  const auto length = static_cast<std::uint64_t>(end_ns) - static_cast<std::uint64_t>(start_ns);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (end_ns <= start_ns) {
    return 0;
  }
  return length > static_cast<std::uint64_t>(most) ? most : static_cast<std::int64_t>(length);
}

/// Adds a non-negative length to a time, saturated.
[[nodiscard]] inline std::int64_t add_length(std::int64_t time_ns, std::int64_t length_ns) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  return length_ns > 0 && time_ns > most - length_ns ? most : time_ns + length_ns;
}

/// Durations from one to another, both included.
struct LengthRange {
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t most_ns = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool holds(std::int64_t duration_ns) const { return duration_ns >= least_ns && duration_ns <= most_ns; }
  [[nodiscard]] bool operator==(const LengthRange& other) const {
    return least_ns == other.least_ns && most_ns == other.most_ns;
  }
};

}  // namespace kymo::panel
