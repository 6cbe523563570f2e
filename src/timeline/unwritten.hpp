// Data that a capture's killed writer left in shared memory. Browsers have none; they link another definition.
#pragma once

#include <string>
#include <vector>

#include <kymo/capture.hpp>

namespace kymo::timeline {

/// The batches that follow those in the file; none if the capture's process is alive or left nothing. Damage found is
/// added to `complaints`. Does not throw.
[[nodiscard]] std::vector<EventBatch> find_unwritten(const CaptureReader& capture,
                                                     std::vector<std::string>& complaints);

}  // namespace kymo::timeline
