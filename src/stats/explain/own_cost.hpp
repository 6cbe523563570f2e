// What kymo itself did in slow instances: its threads, the scopes that it recorded, and those that it dropped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/explain/causes.hpp"
#include "stats/paths/critical_path.hpp"

namespace kymo::stats {

/// What the names of kymo's own threads begin with.
constexpr std::string_view own_threads = "kymo-";

/// Sentences about what kymo itself did in slow instances, as far as it is surely more than in usual ones: it dropped
/// scopes, its threads ran, or recording the scopes on the path took at least a twentieth of the excess. A pass over
/// the blocks if any were dropped, without decoding them.
[[nodiscard]] std::vector<std::string> describe_own_cost(const Timeline& timeline, const LookedAt& looked_at,
                                                         const CriticalPaths& paths, double excess_ns);

}  // namespace kymo::stats
