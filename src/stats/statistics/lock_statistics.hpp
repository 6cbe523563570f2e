// Lock waits and their holders: waits and holds among the sites and spans of a timeline's statistics.
#pragma once

#include "stats/statistics/statistics.hpp"

namespace kymo::stats {

using kymo::HolderWaits;
using kymo::lock_statistics;
using kymo::LockStatistics;

}  // namespace kymo::stats
