// Leftovers of dead processes in shared memory.
#pragma once

#include <cstdint>

namespace kymo::record {

/// Cleans up after this user's dead processes.
///
/// - Deletes spools that were never used, whose captures are closed, or whose events are all in a file.
/// - Deletes the rings of spools that are gone.
/// - Releases the memory of other spools except for events that are in no file yet, so that `kymo recover` finds these.
///
/// Locks identify the spools of living processes; in doubt, a spool stays. `own`: the path of this process's spool,
/// which is not opened, as closing it would release its lock. Stops after `most_ns`; false if something is left to
/// check. About 10 us per spool, 1 ms if memory is released.
bool sweep_spools(const char* directory, const char* own, std::int64_t most_ns) noexcept;

}  // namespace kymo::record
