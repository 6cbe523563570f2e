// Arithmetic on arbitrary times and ranges, as damaged captures may hold any.
#pragma once

#include <cstdint>
#include <limits>

#include <kymo/timeline.hpp>

#include "base/time_math.hpp"

namespace kymo::panel {

using base::add_length;
using base::length_between;

/// Subtracts a length from a time, saturated. A negative length counts as 0.
[[nodiscard]] inline std::int64_t subtract_length(std::int64_t time_ns, std::int64_t length_ns) {
  const std::int64_t most = length_between(std::numeric_limits<std::int64_t>::min(), time_ns);
  return time_ns - (length_ns < 0 ? 0 : length_ns < most ? length_ns : most);
}

/// Whether a stretch of time, including its end, intersects a range.
[[nodiscard]] inline bool overlaps(std::int64_t start_ns, std::int64_t end_ns, TimeRange range) {
  return start_ns <= range.end_ns && end_ns >= range.start_ns;
}

[[nodiscard]] inline bool is_same(TimeRange a, TimeRange b) {
  return a.start_ns == b.start_ns && a.end_ns == b.end_ns;
}

/// Whether a range leaves nothing out.
[[nodiscard]] inline bool is_everything(TimeRange range) {
  return is_same(range, TimeRange());
}

/// Durations from one to another, both included.
struct LengthRange {
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t most_ns = std::numeric_limits<std::int64_t>::max();

  [[nodiscard]] bool holds(std::int64_t duration_ns) const { return duration_ns >= least_ns && duration_ns <= most_ns; }
  [[nodiscard]] bool operator==(const LengthRange&) const = default;
};

}  // namespace kymo::panel
