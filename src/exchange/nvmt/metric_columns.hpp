// Several metrics of a timeline side by side, window by window, filled forward.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <kymo/batch_cursor.hpp>
#include <kymo/timeline.hpp>

namespace kymo::exchange {

/// The result of a pass over the samples of a metric.
struct SampleFacts {
  std::size_t count = 0;
  double first_known = std::numeric_limits<double>::quiet_NaN();  ///< the first value that could be read
  std::int64_t first_known_ns = 0;
};

/// The facts for these metrics, in their order. Decodes every sample of the timeline once.
[[nodiscard]] inline std::vector<SampleFacts> find_sample_facts(const Timeline& timeline,
                                                                std::span<const MetricId> metrics) {
  std::vector<SampleFacts> facts(metrics.size());
  BatchCursor cursor(timeline, {}, BatchParts::samples);
  for (EventBatch batch; cursor.next(batch);) {
    for (const SampleRun& run : batch.samples) {
      const auto found = std::find(metrics.begin(), metrics.end(), run.metric);
      if (found == metrics.end()) {
        continue;
      }
      SampleFacts& fact = facts[static_cast<std::size_t>(found - metrics.begin())];
      fact.count += run.times_ns.size();
      for (std::size_t i = 0; std::isnan(fact.first_known) && i < run.values.size(); ++i) {
        fact.first_known = run.values[i];
        fact.first_known_ns = i < run.times_ns.size() ? run.times_ns[i] : 0;
      }
    }
  }
  return facts;
}

/// Steps through metrics from the start to the end. Holds the samples of one window.
class MetricColumns {
 public:
  explicit MetricColumns(const Timeline& timeline) : timeline_(timeline) {}

  /// Adds a metric and returns its column number. Call before the first load().
  std::size_t add(MetricId metric) {
    columns_.emplace_back().metric = metric;
    return columns_.size() - 1;
  }

  /// Reads samples up to and including a time. Call with ascending times.
  void load(std::int64_t last_ns) {
    for (Column& column : columns_) {
      const auto done = static_cast<std::ptrdiff_t>(column.next);
      column.times_ns.erase(column.times_ns.begin(), column.times_ns.begin() + done);
      column.values.erase(column.values.begin(), column.values.begin() + done);
      column.next = 0;
    }
    const TimeRange range{loaded_until_ns_, last_ns + 1};
    loaded_until_ns_ = last_ns + 1;
    BatchCursor cursor(timeline_, range, BatchParts::samples);
    for (EventBatch batch; cursor.next(batch);) {
      for (const SampleRun& run : batch.samples) {
        for (Column& column : columns_) {
          if (column.metric == run.metric) {
            take(run, column, range);
          }
        }
      }
    }
    for (Column& column : columns_) {
      sort_by_time(column.times_ns, column.values);
    }
  }

  /// Advances every column to its last sample at or before `limit_ns`, which load() must have reached. With `stops_at`,
  /// a column advances by at most one sample of exactly that time.
  void advance(std::int64_t limit_ns, std::int64_t stops_at = std::numeric_limits<std::int64_t>::min()) {
    for (Column& column : columns_) {
      while (column.next < column.times_ns.size() && column.times_ns[column.next] <= limit_ns) {
        const std::int64_t time_ns = column.times_ns[column.next];
        column.value = column.values[column.next];
        column.known = std::isnan(column.value) ? column.known : column.value;
        ++column.next;
        if (time_ns == stops_at) {
          break;
        }
      }
    }
  }

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

  void take(const SampleRun& run, Column& column, TimeRange range) {
    for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
      if (run.times_ns[i] >= range.start_ns && run.times_ns[i] < range.end_ns) {
        column.times_ns.push_back(run.times_ns[i]);
        column.values.push_back(run.values[i]);
      }
    }
  }

  /// Sorts samples by time. Samples of equal time keep their order.
  static void sort_by_time(std::vector<std::int64_t>& times_ns, std::vector<double>& values) {
    if (std::is_sorted(times_ns.begin(), times_ns.end())) {
      return;
    }
    std::vector<std::size_t> order(times_ns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&times_ns](std::size_t a, std::size_t b) { return times_ns[a] < times_ns[b]; });
    std::vector<std::int64_t> sorted_times(order.size());
    std::vector<double> sorted_values(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      sorted_times[i] = times_ns[order[i]];
      sorted_values[i] = values[order[i]];
    }
    times_ns = std::move(sorted_times);
    values = std::move(sorted_values);
  }

  const Timeline& timeline_;
  std::vector<Column> columns_;
  std::int64_t loaded_until_ns_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace kymo::exchange
