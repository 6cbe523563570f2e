// Who waited for which lock: the waits and holds among the sites and spans of a timeline's statistics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/statistics.hpp"

namespace kymo::stats {

/// What was waited for while one holder had a lock.
struct HolderWaits {
  std::string holder;  ///< a place or a thread; empty: not known
  std::uint64_t waits = 0;
  std::uint64_t total_ns = 0;
  std::int64_t max_ns = 0;
};

/// A lock, or several of one name.
struct LockStatistics {
  std::string name;
  std::string file;  ///< where it was declared: known only where somebody waited
  std::uint32_t line = 0;
  std::uint64_t waits = 0;
  std::uint64_t waited_ns = 0;  ///< by all that waited
  std::int64_t max_wait_ns = 0;
  std::uint64_t holds = 0;
  std::uint64_t held_ns = 0;
  std::int64_t max_hold_ns = 0;
  std::vector<HolderWaits> holders;  ///< by falling total
};

/// By falling time waited, then held.
[[nodiscard]] std::vector<LockStatistics> lock_statistics(const Timeline& timeline, const Statistics& statistics);

}  // namespace kymo::stats
