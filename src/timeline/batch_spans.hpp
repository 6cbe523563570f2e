// Spans with their arguments out of batches that are at hand.
#pragma once

#include <memory>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo::timeline {

/// The spans of one track in consecutive batches, in the order they ended; at last those still open, which reach to the
/// end of the last batch.
[[nodiscard]] KYMO_API SpanList spans_of_batches(const std::vector<std::shared_ptr<const EventBatch>>& batches,
                                                 TrackId track);

}  // namespace kymo::timeline
