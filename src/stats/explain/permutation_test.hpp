// Whether slow and usual instances differ in some of many values.
#pragma once

#include <cstdint>
#include <vector>

namespace kymo::stats {

/// How columns are compared with each other.
enum class ColumnScale : std::uint8_t {
  standardised,  ///< each by its own deviation: finds small differences that are steady
  common,        ///< all in the same unit: what is odd in one instance but small does not hide what is large
};

/// For each column of values by instance, how often the largest of all columns' differences of means is as large as the
/// column's own when slow and usual are dealt out at random (Westfall and Young's maxT): corrected for the number of
/// columns. Columns are not empty and of one length. 1,999 rounds; about 0.1 s for 256 columns and 500 slow instances.
[[nodiscard]] std::vector<double> permutation_p_values(const std::vector<const std::vector<double>*>& columns,
                                                       const std::vector<bool>& is_slow, std::uint64_t seed,
                                                       ColumnScale scale = ColumnScale::standardised);

}  // namespace kymo::stats
