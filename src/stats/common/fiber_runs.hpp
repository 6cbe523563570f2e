// Counts the time of fibers once: a run of a fiber is a scope of the thread, and the fiber's scopes are on its own
// track.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <kymo/timeline.hpp>

namespace kymo::stats {

/// Tells which runs of fibers have their time on the fiber's own track as well.
class FiberRuns {
 public:
  explicit FiberRuns(const Timeline& timeline) : timeline_(timeline) {}

  /// Call for each track that has scopes.
  void add_track(TrackId track) {
    const TrackDeclaration& declared = timeline_.track(track);
    if (declared.role == TrackRole::fiber) {
      with_scopes_.emplace(declared.process, declared.name);
    }
  }
  /// True if the site's scopes are runs of a fiber that has scopes itself: its track counts the time.
  [[nodiscard]] bool is_on_fiber(SiteId site) const {
    const SiteDeclaration& declared = timeline_.site(site);
    return declared.role == SiteRole::fiber_run && with_scopes_.count({declared.process, declared.name}) != 0;
  }

 private:
  const Timeline& timeline_;
  std::set<std::pair<ProcessId, std::string>> with_scopes_;
};

}  // namespace kymo::stats
