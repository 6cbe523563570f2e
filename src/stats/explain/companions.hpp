// Metrics that go along with slow instances.
#pragma once

#include <vector>

#include <kymo/explain.hpp>

#include "stats/explain/causes.hpp"

namespace kymo::stats {

/// The metrics whose values differ most surely between slow and usual instances, at most `most`, by a rank test corrected for
/// the number of metrics. One pass over the samples.
[[nodiscard]] std::vector<Companion> find_companions(const Timeline& timeline, const LookedAt& looked_at,
                                                     std::size_t most);

}  // namespace kymo::stats
