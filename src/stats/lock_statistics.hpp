// Who waited for which lock: the waits and holds among the sites and spans of a timeline's statistics.
#pragma once

#include <vector>

#include "stats/statistics.hpp"

namespace kymo::stats {

using kymo::HolderWaits;
using kymo::LockStatistics;

/// By falling time waited, then held.
[[nodiscard]] std::vector<LockStatistics> lock_statistics(const Timeline& timeline, const Statistics& statistics);

}  // namespace kymo::stats
