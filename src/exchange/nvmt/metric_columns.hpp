// Several metrics of a timeline side by side, window by window, filled forward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// The result of a pass over the samples of a metric.
struct SampleFacts {
  std::size_t count = 0;
  double first_known = std::numeric_limits<double>::quiet_NaN();  ///< the first value that could be read
  std::int64_t first_known_ns = 0;
};

/// The facts for these metrics, in their order. Decodes every sample of the timeline once.
[[nodiscard]] std::vector<SampleFacts> find_sample_facts(const Timeline& timeline, std::span<const MetricId> metrics);

/// Steps through metrics from the start to the end. Holds the samples of one window.
class MetricColumns {
 public:
  explicit MetricColumns(const Timeline& timeline) : timeline_(timeline) {}

  /// Adds a metric and returns its column number. Call before the first load().
  std::size_t add(MetricId metric);

  /// Reads samples up to and including a time. Call with ascending times.
  void load(std::int64_t last_ns);

  /// Advances every column to its last sample at or before `limit_ns`, which load() must have reached. With `stops_at`,
  /// a column advances by at most one sample of exactly that time.
  void advance(std::int64_t limit_ns, std::int64_t stops_at = std::numeric_limits<std::int64_t>::min());

  /// A column's current value: NaN if it could not be read or there was none so far.
  [[nodiscard]] double value(std::size_t column) const { return columns_[column].value; }
  /// A column's last value that could be read; NaN if there was none so far.
  [[nodiscard]] double known(std::size_t column) const { return columns_[column].known; }

 private:
  struct Column {
    MetricId metric;
    std::vector<std::int64_t> times_ns;
    std::vector<double> values;
    std::size_t next = 0;
    double value = std::numeric_limits<double>::quiet_NaN();
    double known = std::numeric_limits<double>::quiet_NaN();
  };

  void take(const SampleRun& run, Column& column, TimeRange range);

  const Timeline& timeline_;
  std::vector<Column> columns_;
  std::int64_t loaded_until_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace kymo::exchange
