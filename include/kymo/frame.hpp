// Frames and phases: marks that divide the run into comparable pieces.
#pragma once

#include <cstdint>

#include <kymo/export.hpp>
#include <kymo/text.hpp>

namespace kymo {

/// Marks the end of a frame and the start of the next in a stream. The first mark of a stream starts its first frame.
/// The empty name is the program's main stream; its frames also get the metrics frame_ms, memory_mb and, with
/// record_io, io_ms and io_MB. About 25 ns.
KYMO_API void frame_mark(Text stream = {}) noexcept;

/// Sets a numbered mark; the interval up to the next one is a phase. Returns its number: 1, 2, 3, ..., or 0 while
/// nothing is recorded. Captures of several hosts are aligned by their common numbers.
KYMO_API std::uint64_t sync() noexcept;

}  // namespace kymo
