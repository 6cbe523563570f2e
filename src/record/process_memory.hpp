// How much memory this process holds.
#pragma once

#include <cstdint>

namespace kymo::record {

/// Resident memory in bytes (on Linux the second field of /proc/self/statm, in pages; on macOS the task's resident
/// size); 0 where it cannot be read. About a microsecond. Thread safe.
[[nodiscard]] std::uint64_t resident_memory_bytes() noexcept;

}  // namespace kymo::record
