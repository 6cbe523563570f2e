// Resident memory of this process.
#pragma once

#include <cstdint>

namespace kymo::sense {

/// What it holds now, and the most that it held; bytes, 0 where unknown.
[[nodiscard]] std::uint64_t resident_bytes();
[[nodiscard]] std::uint64_t peak_resident_bytes();

}  // namespace kymo::sense
