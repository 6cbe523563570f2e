// The spans of one track in a time range, read from only the blocks that the range needs.
#pragma once

#include <kymo/timeline.hpp>

#include "timeline/source.hpp"

namespace kymo::timeline {

/// By ascending start and depth. `is_lane`: the track may hold async spans, so a pass over the capture is needed to
/// find the open ones.
[[nodiscard]] SpanList spans_of_track(const Source& source, TrackId track, bool is_lane, TimeRange range);

}  // namespace kymo::timeline
