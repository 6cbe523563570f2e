// What a lower clock of the processor adds to the time that threads compute.
#pragma once

#include <kymo/timeline.hpp>

#include "stats/explain/causes.hpp"
#include "stats/paths/critical_path.hpp"
#include "stats/paths/owners.hpp"

namespace kymo::stats {

/// Where slow instances ran at a surely lower clock than usual, moves the part of the computing time that this adds, by
/// the ratio of clocks, to an owner of the kind OwnerKind::clock. An estimate: work that waits for memory depends less
/// on the clock. The clock is that of the fastest core, since idle ones lower theirs. Does nothing without samples of
/// cpu_clock, in a pass over all samples.
void move_clock_parts(const Timeline& timeline, const LookedAt& looked_at, CriticalPaths& paths, OwnerTable& owners);

}  // namespace kymo::stats
