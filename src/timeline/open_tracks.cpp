#include "timeline/open_tracks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kymo::timeline {

namespace {

bool leaves_open(const ScopeRun& run) {
  return run.events.empty() ? !run.open_at_start.empty() : run.events.back().is_open() || run.events.back().depth != 0;
}

bool names(const EventBatch& batch, TrackId track) {
  return std::any_of(batch.runs.begin(), batch.runs.end(), [track](const ScopeRun& run) { return run.track == track; });
}

}  // namespace

void OpenTracks::end_lost(EventBatch& batch) {
  std::vector<ScopeRun> ended;
  for (auto place = open_.begin(); batch.follows_loss && !batch.runs.empty() && place != open_.end();) {
    if (names(batch, place->first)) {
      ++place;
    } else {
      ended.push_back(std::move(place->second));
      place = open_.erase(place);
    }
  }
  for (const ScopeRun& run : batch.runs) {
    if (!leaves_open(run)) {
      open_.erase(run.track);
      continue;
    }
    ScopeRun& last = open_[run.track];
    last.track = run.track;
    last.first_sequence = last.end_sequence = run.end_sequence;
    last.dropped_scopes = run.dropped_scopes;
    last.dropped_others = run.dropped_others;
  }
  std::move(ended.begin(), ended.end(), std::back_inserter(batch.runs));
}

}  // namespace kymo::timeline
