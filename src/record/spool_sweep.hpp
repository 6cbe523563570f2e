// What dead processes left in shared memory.
#pragma once

#include <cstdint>

namespace kymo::record {

/// Clears up after this user's processes that are dead: deletes spools that were never used, whose captures are closed,
/// or whose events are all in a file, and the rings of spools that are gone; of other spools it gives back all memory
/// but that of events which are in no file yet, so that `kymo recover` finds these. Spools of the living are known by
/// their locks; what cannot be told stays. `own`: the path of this process's spool, whose lock must not be lost by
/// closing it. Stops after `most_ns`; false where something is left to look at. Some 10 us a spool, 1 ms where memory
/// is given back.
bool sweep_spools(const char* directory, const char* own, std::int64_t most_ns) noexcept;

}  // namespace kymo::record
