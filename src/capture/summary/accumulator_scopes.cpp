// The per-scope part of a summary, compiled for speed.
#include <algorithm>
#include <cstddef>

#include "capture/summary/accumulator.hpp"

namespace kymo::capture {

inline SummaryAccumulator::PendingScopes& SummaryAccumulator::pending_of(SiteId site) {
  PendingScopes& pending = pending_[SiteId(site.value() % PendingScopes::most_sites)];
  if (pending.site != site) [[unlikely]] {
    count_pending(pending);
    pending.site = site;
  }
  return pending;
}

void SummaryAccumulator::count_pending(PendingScopes& pending) {
  if (pending.count == 0) {
    return;
  }
  SiteSummary& site = summary_.sites[pending.site];
  std::uint64_t self_ns = 0;
  site.durations.record_all(pending.count, [&](std::uint32_t i) {
    self_ns += pending.scopes[i].self_ns;
    return pending.scopes[i].duration_ns;
  });
  site.self_ns += self_ns;
  pending.count = 0;
}

void SummaryAccumulator::add_run(const ScopeRun& run, std::int64_t batch_start_ns) {
  const auto [found, is_new] = tracks_.try_emplace(run.track);
  TrackState& track = found->second;
  if (is_new) {
    track.cursor = CoverageCursor(floor_ns_);
    track.stack.set_dropped(0);
  }
  track.dropped_scopes = std::max(track.dropped_scopes, run.dropped_scopes);
  track.dropped_others = std::max(track.dropped_others, run.dropped_others);
  summary_.scope_events += run.events.size();
  if (!is_new && run.first_sequence != track.stack.next_sequence()) {
    // Events are missing: the open scopes are known up to the last event.
    track.cursor.flush(summary_.coverage, run.track, track.stack, track.last_event_ns);
  }
  track.stack.begin(run, batch_start_ns);
  PendingScopes* pending = &pending_of(SiteId{});  // of the scope before: often the same site
  // In registers: in memory, each scope would wait for the one before.
  SiteId site;
  std::uint32_t count = pending->count;
  const auto add_plain = [&](const ScopeStack::PlainScope& scope) __attribute__((always_inline)) {
    if (site != scope.site) {
      pending->count = count;
      pending = &pending_of(scope.site);
      site = scope.site;
      count = pending->count;
    }
    pending->scopes[count] = {scope.duration_ns, scope.self_ns};
    if (++count == PendingScopes::most) {
      pending->count = count;
      count_pending(*pending);
      count = 0;
    }
  };
  for (std::size_t taken = 0; taken < run.events.size();) {
    std::size_t stop = track.cursor.next_stop(run.events, taken);
    if (stop == taken) {
      track.cursor.pass(summary_.coverage, run.track, track.stack, run.events[taken].time_ns);
      stop = std::max(track.cursor.next_stop(run.events, taken), taken + 1);
    }
    track.stack.take(run, taken, stop, add_plain,
                     [this](const ScopeSpan& span) { summary_.sites[span.site].add(span); });
    taken = stop;
  }
  pending->count = count;
  if (!run.events.empty()) {
    track.last_event_ns = std::max(track.last_event_ns, run.events.back().time_ns);
  }
}

}  // namespace kymo::capture
