// CPU time, time pushed off and time blocked of each site's scopes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <kymo/thread_activity.hpp>
#include <kymo/thread_states.hpp>
#include <kymo/timeline.hpp>

#include "stats/common/selection.hpp"
#include "stats/common/site_rows.hpp"

namespace kymo::stats {

using kymo::SiteRunTimes;

/// A row for each site with such scopes.
class RunTimesOfSites {
 public:
  RunTimesOfSites(const Timeline& timeline, bool by_process) : rows_(timeline, by_process) {}

  [[nodiscard]] bool empty() const { return times_.empty(); }
  /// Null if nothing is known of the site's scopes.
  [[nodiscard]] const SiteRunTimes* find(SiteId site) {
    const std::uint32_t row = rows_.row_of(site);
    return row < times_.size() && times_[row].scopes != 0 ? &times_[row] : nullptr;
  }
  void add(SiteId site, std::int64_t duration_ns, const RunTimes& times);

 private:
  SiteRows rows_;
  std::vector<SiteRunTimes> times_;  // by row
};

struct RunTimesOptions {
  bool by_process = false;  ///< as in StatisticsOptions
  Selection selection;      ///< its threads and its time interval, to which scopes are cut
  std::function<void(double)> on_progress = {};
};

/// Of completed scopes, and of those that the selected interval cuts. A pass over the timeline; nothing if
/// no states were recorded.
[[nodiscard]] RunTimesOfSites gather_run_times(const Timeline& timeline, const RunTimesOptions& options);

}  // namespace kymo::stats
