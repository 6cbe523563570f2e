// Metrics: named time series that the program records itself.
#pragma once

#include <cstdint>
#include <string_view>

#include <kymo/export.hpp>

namespace kymo {

/// Records a sample of a metric now. Every value is kept at its time; a frame's value is the latest in it. The name is
/// looked up by content and cut at 256 bytes; at most 65,536 names made at run time are told apart. NaN marks a value
/// that could not be read. About 30 ns; nothing is locked. A load and a branch while nothing is recorded.
KYMO_API void record_metric(std::string_view name, double value) noexcept;

/// The same with a unit ("ms", "W", "1"). The unit of a metric is that of its first sample.
KYMO_API void record_metric_unit(std::string_view name, double value, std::string_view unit) noexcept;

/// Adds an I/O operation to the running frame. At the next mark of the main frame stream the sums of all threads become
/// samples of io_ms and io_MB. Two atomic additions.
KYMO_API void record_io(std::uint64_t duration_ns, std::uint64_t bytes) noexcept;

}  // namespace kymo
