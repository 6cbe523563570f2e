#include "stats/paths/queue_waits.hpp"

namespace kymo::stats {

namespace {

/// Shorter stretches are not looked up among the spans of queues.
constexpr std::int64_t least_wait_ns = 20'000;

}  // namespace

bool QueueWaits::is_judged(const ScopeStretch& stretch) {
  return stretch.request.actor.track && stretch.range.end_ns - stretch.range.start_ns >= least_wait_ns;
}

/// A thread that hands work in has the same times as the work where the queue is faster: such work began after the
/// stretch.
TrackId QueueWaits::polled_queue(const ScopeStretch& stretch, bool needs_flow) const {
  const auto& [request, site, range] = stretch;
  const TrackId queue = hand_overs_.queue_ended_by(timeline_.track(request.actor.track).process, range, false);
  if (!queue) {
    return {};
  }
  std::int64_t busy_ns = 0;
  std::int64_t idle_since_ns = range.end_ns;
  for (const QueueWork& work : hand_overs_.work(queue, range)) {
    busy_ns += work.end_ns - work.start_ns;
    idle_since_ns = work.end_ns;
  }
  const std::optional<std::int64_t> sent_ns = hand_overs_.last_sent_to(queue, idle_since_ns);
  const bool was_handed_in = sent_ns ? *sent_ns < range.start_ns : !needs_flow;
  return 2 * busy_ns >= range.end_ns - range.start_ns && was_handed_in ? queue : TrackId{};
}

TrackId QueueWaits::of_unknown(const ScopeStretch& stretch) {
  return is_judged(stretch) ? polled_queue(stretch, false) : TrackId{};
}

QueueWaits::Blocked QueueWaits::of_blocked(const ScopeStretch& stretch) {
  const auto& [request, site, range] = stretch;
  if (!is_judged(stretch)) {
    return {};
  }
  const ProcessId process = timeline_.track(request.actor.track).process;
  if (const TrackId queue = hand_overs_.queue_ended_by(process, range, true); queue) {
    ++blocked_[{site, queue}];
    return {queue, false};
  }
  const TrackId queue = hand_overs_.queue_idle_since(process, range);
  if (!queue || kept_.size() == HandOvers::most_events) {
    return {};
  }
  --blocked_[{site, queue}];
  kept_.push_back({stretch, queue, false});
  return {{}, true};
}

TrackId QueueWaits::of_running(const ScopeStretch& stretch) {
  if (!is_judged(stretch)) {
    return {};
  }
  const TrackId queue = polled_queue(stretch, true);
  if (queue) {
    ++running_[{stretch.site, queue}];
  } else {
    ++ran_otherwise_[stretch.site];
  }
  return queue;
}

bool QueueWaits::keep(const ScopeStretch& part, TrackId queue) {
  const bool has_room = kept_.size() < HandOvers::most_events;
  if (has_room) {
    kept_.push_back({part, queue, true});
  }
  return has_room;
}

/// Where a scope's stretches mostly end with the spans of a queue, the others were for the queue as well if they end
/// late, and none is chance. Elsewhere the queue became idle by chance.
std::vector<PossibleWait> QueueWaits::decide() {
  for (PossibleWait& wait : kept_) {
    const std::pair<SiteId, TrackId> key{wait.stretch.site, wait.queue};
    const std::int64_t balance = wait.is_running ? running_[key] - ran_otherwise_[wait.stretch.site] : blocked_[key];
    if (balance <= 0) {
      wait.queue = {};
    }
  }
  return std::move(kept_);
}

}  // namespace kymo::stats
