// How often the threads of slow instances moved to another CPU.
#pragma once

#include <string>

#include "stats/explain/causes.hpp"

namespace kymo::stats {

/// ", moved to another CPU 4 times against 0.1", the means of slow and of usual instances, if the instances' own
/// threads surely moved more often in slow ones: by the permutation test of arguments, at their level. Else empty, as
/// where fewer than three on either side have known run states.
[[nodiscard]] std::string describe_migrations(const FindingFacts& facts);

}  // namespace kymo::stats
