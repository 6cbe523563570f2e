// What is observed of the process beside the events that it records, such as its threads' run states.
#pragma once

#include <cstdint>

#include <kymo/events.hpp>

namespace kymo::record {

/// How far an observer is asked to go.
enum class Observation : std::uint32_t {
  more = 0,       ///< what became known since the last call
  summed_up = 1,  ///< a sink is about to go: also the facts of what was observed and lost so far
  last = 2,       ///< the same, and no sink is left: the next call begins anew
};

/// Moves what was observed into an empty batch. Returns whether that is anything. Called on the collector's thread.
using Observer = bool (*)(EventBatch* batch, Observation extent) noexcept;

}  // namespace kymo::record
