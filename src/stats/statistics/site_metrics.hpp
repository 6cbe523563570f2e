// Metrics per site: mean and peak of a metric while scopes of a site were open.
//
// A site runs while at least one of its scopes is open on any thread of a process. Neither recursion nor parallel
// threads count a moment twice. Between two samples a metric keeps the earlier value; power keeps its mean from one
// renewal of its source to the next. For scopes shorter than the time between samples, the values are estimates and
// marked so. Power is that of the machine, including other work.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/common/selection.hpp"
#include "stats/common/site_rows.hpp"

namespace kymo::stats {

struct SiteMetricColumn {
  std::string name;  ///< as requested, or the full name if one word stands for several metrics
  std::string unit;
  std::vector<std::string> sources;  ///< full names of the metrics behind it
};

struct SiteMetricValue {
  double mean = 0;  ///< over time
  double peak = 0;
  double known_s = 0;         ///< 0: the metric was unknown while the site ran; mean and peak are meaningless
  bool is_estimated = false;  ///< declared so by the metric, or half of the times that the site ran were
                              ///< shorter than the time between samples
};

/// A value for each column, for each site that ran.
class SiteMetrics {
 public:
  SiteMetrics(const Timeline& timeline, bool by_process) : rows_(timeline, by_process) {}

  [[nodiscard]] const std::vector<SiteMetricColumn>& columns() const { return columns_; }
  /// The values of a site, or none if it never ran.
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
  /// "power": all that feeds the machine, as for energy. "memory": the first available of process_rss, memory_mb,
  /// memory_used. Otherwise a metric's name or full name; several metrics of that name give one column each.
  std::vector<std::string> names;
  bool by_process = false;  ///< as in StatisticsOptions
  Selection selection;      ///< its threads and its time interval
  std::function<void(double)> on_progress = {};
};

/// Two passes over the timeline, about 150 ns a scope. Memory: the samples of the metrics, 32 bytes each. Throws
/// SelectionError if nothing has such a name.
[[nodiscard]] SiteMetrics gather_site_metrics(const Timeline& timeline, const SiteMetricOptions& options);

}  // namespace kymo::stats
