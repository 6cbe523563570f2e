// Percentages for samples.
#pragma once

#include <cmath>
#include <limits>

namespace kymo::sense {

/// part / whole in %, rounded to 0.01 to encode compactly. NaN if the whole is 0.
[[nodiscard]] inline double percent(double part, double whole) {
  return whole > 0 ? std::round(part / whole * 10'000) / 100 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace kymo::sense
