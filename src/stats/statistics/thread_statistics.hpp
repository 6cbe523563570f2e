// Scopes per thread and site.
#pragma once

#include <functional>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/common/selection.hpp"
#include "stats/statistics/statistics.hpp"

namespace kymo::stats {

/// The scopes of one site on one track.
struct ThreadSiteStatistics {
  TrackId track;
  SiteStatistics scopes;
};

/// Of each track with scopes of the selection, by descending self time of the track, then by descending total of the
/// site. Summaries keep no tracks apart, so every block is decoded: about 20 ns a scope.
[[nodiscard]] std::vector<ThreadSiteStatistics> gather_thread_statistics(
    const Timeline& timeline, const Selection& selection, const std::function<void(double)>& on_progress = {});

}  // namespace kymo::stats
