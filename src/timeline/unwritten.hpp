// The writer of a capture without an end, and the data that a killed one left in shared memory. Browsers see neither;
// they link another definition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/export.hpp>

namespace kymo::timeline {

/// The batches that follow those in the file; none if the capture's process is alive or left nothing. Refreshes the
/// capture if its process is not alive. Damage found is added to `complaints`. Does not throw.
[[nodiscard]] std::vector<EventBatch> find_unwritten(CaptureReader& capture, std::vector<std::string>& complaints);

/// Whether a capture without an end gets one. One that was closed since it was read counts as `living`.
enum class Writer : std::uint8_t { living, gone, unknown };

/// Looks for the process that writes a capture. In browsers it is always unknown.
[[nodiscard]] KYMO_API Writer look_for_writer(const CaptureReader& capture);

}  // namespace kymo::timeline
