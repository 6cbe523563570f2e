// What run states tell about a cause: who had the CPU, who ran while the thread waited, how often it moved.
#pragma once

#include <string>

#include "stats/explain/causes.hpp"

namespace kymo::stats {

/// ", moved to another CPU 4 times against 0.1", the means of slow and of usual instances, if the instances' own
/// threads surely moved more often in slow ones: by the permutation test of arguments, at their level. Else empty, as
/// where fewer than three on either side have known run states.
[[nodiscard]] std::string describe_migrations(const FindingFacts& facts);

/// Who ran on the CPU while slow instances could have, for a cause that is pushed off or late to go on: the observed
/// thread that did so most of the time, or words for threads that were not observed. Empty if that is not known.
[[nodiscard]] std::string find_pusher(const FindingFacts& facts, const Cause& cause);

/// Whether it was recorded which threads ended waits.
[[nodiscard]] bool has_wakes(const Timeline& timeline);

/// " while gzip ran 98 % of the time": who ran for at least a quarter of the time in which slow instances were blocked.
/// It may be whom they waited for. Threads with the same words count as one. Empty where wakes tell, or nobody did.
[[nodiscard]] std::string describe_meanwhile(const FindingFacts& facts, const Cause& cause);

}  // namespace kymo::stats
