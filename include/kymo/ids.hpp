// The small numbers that stand for declared things: what events carry instead of names.
#pragma once

#include <cstdint>

namespace kymo {

/// Ids count from 1 within one capture; 0 means "none".
using SiteId = std::uint32_t;
using NameId = std::uint32_t;
using TrackId = std::uint32_t;
using MetricId = std::uint32_t;
using FrameStreamId = std::uint32_t;
using ModuleId = std::uint32_t;
using ProcessId = std::uint32_t;

/// What fills a track.
enum class TrackKind : std::uint8_t {
  thread = 0,  ///< a thread of the process
  async = 1,   ///< a lane of async spans
  queue = 2,   ///< a GPU queue or another lane filled by emit_span
};

/// What a track of its kind is there for. Readers that do not know it take the kind alone.
enum class TrackRole : std::uint8_t {
  plain = 0,
  fiber = 1,  ///< kind thread: a fiber, which moves between threads
  lock = 2,   ///< kind async: who held a lock
};

/// How the values of a metric are to be read.
enum class MetricKind : std::uint8_t {
  gauge = 0,           ///< each value stands for itself
  counter = 1,         ///< a total that only grows; a smaller value is a new beginning
  energy_counter = 2,  ///< a total in joules
};

}  // namespace kymo
