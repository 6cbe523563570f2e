// Shares as they are sampled.
#pragma once

#include <cmath>
#include <limits>

namespace kymo::sense {

/// part / whole in %, rounded to 0.01 so that it codes small; NaN where the whole is nothing.
[[nodiscard]] inline double percent(double part, double whole) {
  return whole > 0 ? std::round(part / whole * 10'000) / 100 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace kymo::sense
