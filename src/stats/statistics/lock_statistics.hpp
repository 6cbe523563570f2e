// Lock waits and their holders: waits and holds among the sites and spans of a timeline's statistics.
#pragma once

#include <vector>

#include "stats/statistics/statistics.hpp"

namespace kymo::stats {

using kymo::HolderWaits;
using kymo::LockStatistics;

/// By descending time waited, then held.
[[nodiscard]] std::vector<LockStatistics> lock_statistics(const Timeline& timeline, const Statistics& statistics);

}  // namespace kymo::stats
