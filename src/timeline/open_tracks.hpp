// The tracks of a capture that have open scopes.
#pragma once

#include <map>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/export.hpp>

namespace kymo::timeline {

/// Processes the batches of one capture in order.
class OpenTracks {
 public:
  /// A batch names every track with open scopes. Where one that had some is not named after a loss, their ends are
  /// missing: a run without scopes is added, which says so to those who follow tracks.
  KYMO_API void end_lost(EventBatch& batch);

 private:
  std::map<TrackId, ScopeRun> open_;  // the runs that would be added
};

}  // namespace kymo::timeline
