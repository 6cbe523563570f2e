// What the killed writer of a capture left in shared memory. The browser, which has none, links another definition.
#pragma once

#include <string>
#include <vector>

#include <kymo/capture.hpp>

namespace kymo::timeline {

/// The batches that follow those in the file; none where the capture's process lives or left nothing. What was found
/// damaged is added to `complaints`. Throws nothing.
[[nodiscard]] std::vector<EventBatch> find_unwritten(const CaptureReader& capture,
                                                     std::vector<std::string>& complaints);

}  // namespace kymo::timeline
