#include "capture/write/unwritten.hpp"

#include <algorithm>

namespace kymo::capture {

TrackTotals count_events(const EventBatch& batch) {
  TrackTotals sum;
  for (const ScopeRun& run : batch.runs) {
    for (const ScopeEvent& event : run.events) {
      sum.dropped_scopes += event.is_open() ? 1U : 0U;
    }
    sum.dropped_others += run.arguments.size();
  }
  for (const SampleRun& run : batch.samples) {
    sum.dropped_others += run.values.size();
  }
  sum.dropped_others += batch.spans.size() + batch.async_begins.size() + batch.frame_marks.size() +
                        batch.messages.size() + batch.flows.size() + batch.sync_points.size();
  return sum;
}

void state_unwritten(const TrackTotals& unwritten, EventBatch& batch) {
  TrackDeclaration& track = batch.declarations.tracks.emplace_back();
  track.id = unwritten_track;
  track.kind = TrackKind::queue;
  track.name = "(not written: no room in the file)";
  ScopeRun& run = batch.runs.emplace_back();
  run.track = unwritten_track;
  run.dropped_scopes = unwritten.dropped_scopes;
  run.dropped_others = unwritten.dropped_others;
}

std::uint64_t reopen(const UnwrittenTracks& tracks, EventBatch& batch) {
  std::uint64_t opened = 0;
  for (ScopeRun& run : batch.runs) {
    const auto found = tracks.find(run.track);
    const std::size_t kept_depth = found != tracks.end() ? found->second.kept_depth : run.open_at_start.size();
    if (kept_depth >= run.open_at_start.size()) {
      continue;
    }
    ScopeEvents opens;
    for (std::size_t depth = kept_depth; depth < run.open_at_start.size(); ++depth) {
      const OpenScope& open = run.open_at_start[depth];
      opens.push_back({open.start_ns, open.site, static_cast<std::uint16_t>(depth), 0});
    }
    batch.start_ns = std::min(batch.start_ns, opens.front().time_ns);
    run.open_at_start.resize(kept_depth);
    run.events.insert(run.events.begin(), opens.begin(), opens.end());
    for (ScopeArgument& argument : run.arguments) {
      argument.position += static_cast<std::uint32_t>(opens.size());
    }
    opened += opens.size();
  }
  return opened;
}

void name_unwritten(const UnwrittenTracks& tracks, EventBatch& batch) {
  UnwrittenTracks unnamed = tracks;
  for (const ScopeRun& run : batch.runs) {
    unnamed.erase(run.track);
  }
  for (const auto& [id, track] : unnamed) {
    ScopeRun& run = batch.runs.emplace_back();
    run.track = id;
    run.first_sequence = run.end_sequence = track.end_sequence;
  }
}

}  // namespace kymo::capture
