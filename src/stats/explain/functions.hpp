// Functions that account for a finding's excess, by sampled stacks.
#pragma once

#include <string>
#include <vector>

#include <kymo/explain.hpp>

#include "stats/explain/causes.hpp"

namespace kymo::stats {

/// Fewer samples of an excess say nothing about its functions. Waits are not samples: each is recorded.
constexpr double least_samples_of_excess = 20;

/// The functions in which at least a tenth of the cause's excess went by self time, at most three, and the innermost
/// function that at least 80 % of it went through, if usual instances mostly do not. Only causes that compute or are
/// blocked have any. Their shares are of the excess's samples. Where the kernel hides its own, these count as
/// elsewhere. None if less than a quarter of the excess was sampled otherwise. Intervals hold with 95 %.
[[nodiscard]] std::vector<FindingFunction> find_functions(const FindingFacts& facts, const Cause& cause);

/// "; of it 80 % [71..88 %] in malloc (libc.so.6)". Empty without functions.
[[nodiscard]] std::string describe_functions(const std::vector<FindingFunction>& functions);

}  // namespace kymo::stats
