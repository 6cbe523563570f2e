// Metrics beside sites: mean and peak of a metric while scopes of a site were open.
//
// A site runs while at least one scope of it is open on any thread of a process, so that neither recursion nor threads
// that run together count a moment twice. Between two samples a metric keeps the value of the earlier one; power keeps
// its mean from one renewal of its source to the next. What a sample says of a scope that is shorter than the time
// between samples is an estimate, and marked so. Power is that of the machine, whoever else ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/selection.hpp"
#include "stats/site_rows.hpp"

namespace kymo::stats {

struct SiteMetricColumn {
  std::string name;  ///< as it was asked for, or the full name where one word stands for several metrics
  std::string unit;
  std::vector<std::string> sources;  ///< full names of the metrics behind it
};

struct SiteMetricValue {
  double mean = 0;  ///< over time
  double peak = 0;
  double known_s = 0;         ///< 0: the metric was not known while the site ran; mean and peak say nothing
  bool is_estimated = false;  ///< the metric says so of its numbers, or half of the times that the site ran were
                              ///< shorter than the time between samples
};

/// Of each site that ran, a value for each column.
class SiteMetrics {
 public:
  SiteMetrics(const Timeline& timeline, bool by_process) : rows_(timeline, by_process) {}

  [[nodiscard]] const std::vector<SiteMetricColumn>& columns() const { return columns_; }
  /// The values of a site, or nothing where it never ran.
  [[nodiscard]] const std::vector<SiteMetricValue>* find(SiteId site) {
    const std::uint32_t row = rows_.row_of(site);
    return row < values_.size() && !values_[row].empty() ? &values_[row] : nullptr;
  }

 private:
  friend class SiteMetricGathering;

  SiteRows rows_;
  std::vector<SiteMetricColumn> columns_;
  std::vector<std::vector<SiteMetricValue>> values_;  // by row
};

struct SiteMetricOptions {
  /// "power": all that feeds the machine, as for energy. "memory": process_rss, else memory_mb, else memory_used, what
  /// there is first. Else a metric's name or full name; where several have the name, each is a column.
  std::vector<std::string> names;
  bool by_process = false;  ///< as in StatisticsOptions
  Selection selection;      ///< its threads and its stretch of time
  std::function<void(double)> on_progress = {};
};

/// Two passes over the timeline, about 150 ns a scope. Memory: the samples of the metrics, 32 bytes each.
/// SelectionError where nothing has such a name.
[[nodiscard]] SiteMetrics gather_site_metrics(const Timeline& timeline, const SiteMetricOptions& options);

}  // namespace kymo::stats
