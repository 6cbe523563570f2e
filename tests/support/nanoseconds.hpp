// Durations in the unit of samples.
#pragma once

#include <cstdint>

namespace kymo::test {

inline constexpr std::int64_t ms = 1'000'000;
inline constexpr std::int64_t second = 1000 * ms;

}  // namespace kymo::test
