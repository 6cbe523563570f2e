// Softmax attention in 32-bit floats. Every sum is taken in one stated order and nothing is left to the machine's
// mathematical library, so that the same inputs give the same bits everywhere (compiled without -ffast-math and with
// -ffp-contract=off, as CMakeLists.txt does).
#pragma once

#include <cstdint>
#include <vector>

#include "workload.hpp"

namespace attention {

/// e to the power of x for x <= 0, within two units of the last place; 0 below -87.
[[nodiscard]] float exponential(float x);

/// Queries times keys over the root of the dimension: count rows of count. Each sum goes through the dimension from the
/// front.
[[nodiscard]] Matrix logits_of(const Tokens& tokens);

/// The softmax of each row of logits, applied to the values: count rows of `dimension`. Where a mask is given, logits
/// whose byte is 0 count as minus infinity; no row of it may be all 0. Sums go through the keys from the front.
[[nodiscard]] Matrix attend(const Tokens& tokens, const Matrix& logits, const std::vector<std::uint8_t>* kept);

}  // namespace attention
