// Metrics: named time series that the program records itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kymo/export.hpp>
#include <kymo/ids.hpp>
#include <kymo/text.hpp>

namespace kymo {

/// Records a sample of a metric at the current time. Every value is kept with its time; a frame's value is the latest
/// in it. The name is looked up by content and cut at 256 bytes. At most 65,536 names made at run time are
/// distinguished. NaN marks a value that could not be read. About 30 ns, lock-free. A load and a branch while nothing
/// is recorded.
KYMO_API void record_metric(Text name, double value) noexcept;

/// The same with a unit ("ms", "W", "1"). A metric keeps the unit of its first sample.
KYMO_API void record_metric_unit(Text name, double value, Text unit) noexcept;

/// A label distinguishes metrics of one name: the core, the disk, the GPU.
struct MetricLabel {
  Text key;
  Text value;
};

/// Description of a metric. MetricDeclaration documents the fields.
struct MetricDescription {
  Text name;
  Text unit = {};
  MetricKind kind = MetricKind::gauge;
  Text source = {};
  const MetricLabel* labels = nullptr;
  std::size_t label_count = 0;
  double step = 0;
  std::int64_t renewal_ns = 0;
  std::int64_t window_ns = 0;
  std::uint32_t traits = 0;
};

/// Declares a metric, or updates the description of one with the same name and labels. Texts are copied and cut at 256
/// bytes; at most 16 labels are kept. Returns 0 while nothing is recorded, or if there is no room. About a microsecond.
/// Each call takes some hundred bytes of the pool until the capture ends, so call it when a metric's properties change,
/// not for each sample.
[[nodiscard]] KYMO_API MetricId declare_metric(const MetricDescription& description) noexcept;

/// One sample of a declared metric.
struct MetricSample {
  MetricId metric{};
  std::uint32_t flags = 0;  ///< SampleRun::stale or 0
  double value = 0;         ///< NaN: could not be read
};

/// Records samples of several metrics, all at the time of the call. Samples of metric 0 are skipped. About 20 ns plus 1
/// ns a sample.
KYMO_API void record_samples(const MetricSample* samples, std::size_t count) noexcept;

/// Adds an I/O operation to the current frame. At the next mark of the main frame stream, the sums over all threads
/// become samples of io_ms and io_MB. Two atomic additions.
KYMO_API void record_io(std::uint64_t duration_ns, std::uint64_t bytes) noexcept;

}  // namespace kymo
