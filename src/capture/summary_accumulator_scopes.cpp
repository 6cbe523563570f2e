// The part of a summary that is done for every scope, and therefore compiled for speed.
#include <algorithm>
#include <cstddef>

#include "capture/summary_accumulator.hpp"

namespace kymo::capture {

void SummaryAccumulator::count_pending(PendingScopes& pending) {
  if (pending.count == 0) {
    return;
  }
  SiteSummary& site = summary_.sites[pending.id];
  std::uint64_t self_ns = 0;
  site.durations.record_all(pending.count, [&](std::uint32_t i) {
    self_ns += pending.scopes[i].self_ns;
    return pending.scopes[i].duration_ns;
  });
  site.self_ns += self_ns;
  pending.count = 0;
}

void SummaryAccumulator::add_run(const ScopeRun& run) {
  const auto [found, is_new] = tracks_.try_emplace(run.track);
  TrackState& track = found->second;
  if (is_new) {
    track.cursor = CoverageCursor(floor_ns_);
  }
  track.dropped_scopes = std::max(track.dropped_scopes, run.dropped_scopes);
  track.dropped_others = std::max(track.dropped_others, run.dropped_others);
  summary_.scope_events += run.events.size();
  if (!is_new && run.first_sequence != track.stack.next_sequence()) {
    // Events are missing: what was open is known until the last one.
    track.cursor.flush(summary_.coverage, run.track, track.stack, track.last_event_ns);
  }
  track.stack.begin(run);
  PendingScopes* pending = &pending_[0];  // of the scope before: often the next one's as well
  const auto add_plain = [ this, &pending ](const ScopeStack::PlainScope& scope) __attribute__((always_inline)) {
    if (pending->id != scope.site) {
      pending = &pending_[scope.site];
    }
    pending->scopes[pending->count] = {scope.duration_ns, scope.self_ns};
    if (++pending->count == PendingScopes::most) {
      count_pending(*pending);
    }
  };
  for (std::size_t taken = 0; taken < run.events.size();) {
    std::size_t stop = track.cursor.next_stop(run.events, taken);
    if (stop == taken) {
      track.cursor.pass(summary_.coverage, run.track, track.stack, run.events[taken].time_ns);
      stop = std::max(track.cursor.next_stop(run.events, taken), taken + 1);
    }
    while ((taken = track.stack.take_plain(run, taken, stop, add_plain)) != stop) {
      track.stack.take(run, taken, taken + 1, [this](const ScopeSpan& span) { summary_.sites[span.site].add(span); });
      ++taken;
    }
  }
  if (!run.events.empty()) {
    track.last_event_ns = std::max(track.last_event_ns, run.events.back().time_ns);
  }
}

}  // namespace kymo::capture
