// Softmax attention in 32-bit floats. Every sum has a defined order and nothing depends on the machine's mathematical
// library, so the same inputs give the same bits everywhere (compiled without -ffast-math and with -ffp-contract=off,
// as in CMakeLists.txt).
#pragma once

#include <cstdint>
#include <vector>

#include "workload.hpp"

namespace attention {

/// e to the power of x for x <= 0, with an error of at most two units in the last place; 0 below -87.
[[nodiscard]] float exponential(float x);

/// Queries times keys divided by the root of the dimension: count rows of count. Sums run over the dimension in
/// ascending order.
[[nodiscard]] Matrix logits_of(const Tokens& tokens);

/// The softmax of each row of logits applied to the values: count rows of `dimension`. With a mask, logits whose byte
/// is 0 count as minus infinity; a row of zeros gives zeros. Sums run over the keys in ascending order.
[[nodiscard]] Matrix attend(const Tokens& tokens, const Matrix& logits, const std::vector<std::uint8_t>* kept);

}  // namespace attention
