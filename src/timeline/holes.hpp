// The stretches of a capture that a flight recorder let go between two triggers.
#pragma once

#include <vector>

#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo::timeline {

class Source;

/// The stretches in which nothing is in the file, since blocks are missing there. Decodes the blocks that follow.
[[nodiscard]] KYMO_API std::vector<TimeRange> holes_of(const Source& source);

}  // namespace kymo::timeline
