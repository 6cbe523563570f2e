// Frames and phases: marks that cut the run into pieces worth comparing.
#pragma once

#include <cstdint>
#include <string_view>

#include <kymo/export.hpp>

namespace kymo {

/// Marks the end of a frame and the beginning of the next in a stream; the empty name is the program's main stream,
/// whose frames also get the metrics frame_ms, memory_mb and, with record_io, io_ms and io_MB. The first mark of a
/// stream begins its first frame. About 25 ns.
KYMO_API void frame_mark(std::string_view stream = {}) noexcept;

/// Sets a numbered mark; the stretch up to the next one is a phase. Returns its number: 1, 2, 3, ...; 0 while nothing
/// is recorded. Captures of several hosts are aligned by equal numbers where they share them.
KYMO_API std::uint64_t sync() noexcept;

}  // namespace kymo
