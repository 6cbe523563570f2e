#include "stats/paths/hand_overs.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include <kymo/batch_cursor.hpp>

#include "base/time_math.hpp"
#include "stats/paths/instances.hpp"

namespace kymo::stats {

namespace {

/// So many holds before an interval are looked at for those that last into it.
constexpr std::ptrdiff_t most_namesakes = 64;

/// Whether [start, end] touches one of the intervals. These are disjoint and ascend.
bool overlaps(std::span<const TimeRange> intervals, std::int64_t start_ns, std::int64_t end_ns) {
  const auto next =
      std::upper_bound(intervals.begin(), intervals.end(), start_ns,
                       [](std::int64_t time_ns, const TimeRange& range) { return time_ns <= range.end_ns; });
  return next != intervals.end() && next->start_ns <= end_ns;
}

}  // namespace

HandOvers::HandOvers(const Timeline& timeline, std::span<const TimeRange> intervals) {
  for (const TrackDeclaration& track : timeline.tracks()) {
    if (track.kind == TrackKind::thread) {
      threads_[{track.process, track.name}].push_back(track.id);
    }
  }
  const std::vector<TimeRange> within = union_of({intervals.begin(), intervals.end()});
  if (within.empty()) {
    return;
  }
  // Holds and queue spans are recorded when they end: perhaps after the interval.
  BatchCursor cursor(timeline, {}, BatchParts::others);
  for (EventBatch batch; cursor.next(batch);) {
    take(batch, timeline, within);
  }
  match_flows();
  sort();
}

void HandOvers::take(const EventBatch& batch, const Timeline& timeline, std::span<const TimeRange> intervals) {
  for (const SpanEvent& span : batch.spans) {
    const std::int64_t end_ns = base::add_length(span.start_ns, span.duration_ns);
    const TrackDeclaration& track = timeline.track(span.track);
    const bool is_hold = track.role == TrackRole::lock;
    if ((!is_hold && track.kind != TrackKind::queue) || !overlaps(intervals, span.start_ns, end_ns)) {
      continue;
    }
    if (!count_if_room(is_hold ? hold_count_ : work_count_)) {
      continue;
    }
    if (is_hold) {
      holds_[{track.process, track.name}].push_back({span.start_ns, end_ns, span.category, 0});
    } else {
      const auto [of_queue, is_new] = work_.try_emplace(span.track);
      if (is_new) {
        queues_[track.process].push_back(span.track);
      }
      of_queue->second.push_back({span.start_ns, end_ns, span.track, span.name});
    }
  }
  for (const ThreadWake& wake : batch.wakes) {
    if (overlaps(intervals, wake.time_ns, wake.time_ns) && count_if_room(wake_count_)) {
      wakes_[wake.thread].push_back(wake);
    }
  }
  for (const FlowEvent& flow : batch.flows) {
    if (overlaps(intervals, flow.time_ns, flow.time_ns) && count_if_room(flow_count_)) {
      flows_.push_back(flow);
    }
  }
}

/// Counts an event of a kind. False if there are too many.
bool HandOvers::count_if_room(std::size_t& count) {
  if (count == most_events) {
    is_cut_ = true;
    return false;
  }
  ++count;
  return true;
}

/// A flow may be used again: each arrival belongs to the last point before it.
void HandOvers::match_flows() {
  std::stable_sort(flows_.begin(), flows_.end(),
                   [](const FlowEvent& a, const FlowEvent& b) { return a.time_ns < b.time_ns; });
  std::unordered_map<std::uint64_t, Sent> sent;
  for (const FlowEvent& flow : flows_) {
    const auto from = sent.find(flow.flow_id);
    if (flow.phase != FlowPhase::begin && from != sent.end() && from->second.track != flow.track) {
      arrivals_[flow.track].push_back({flow.time_ns, from->second.time_ns, from->second.track});
    }
    if (flow.phase == FlowPhase::end) {
      sent.erase(flow.flow_id);
    } else {
      sent[flow.flow_id] = {flow.time_ns, flow.track};
    }
  }
  flows_ = {};
}

void HandOvers::sort() {
  for (auto& [lock, holds] : holds_) {
    std::sort(holds.begin(), holds.end(), [](const Hold& a, const Hold& b) { return a.start_ns < b.start_ns; });
    std::int64_t latest_ns = holds.front().end_ns;
    for (Hold& hold : holds) {
      latest_ns = std::max(latest_ns, hold.end_ns);
      hold.latest_end_ns = latest_ns;
    }
  }
  for (auto& [thread, wakes] : wakes_) {
    std::sort(wakes.begin(), wakes.end(),
              [](const ThreadWake& a, const ThreadWake& b) { return a.time_ns < b.time_ns; });
  }
  for (auto& [queue, work] : work_) {
    std::sort(work.begin(), work.end(), [](const QueueWork& a, const QueueWork& b) { return a.end_ns < b.end_ns; });
  }
}

std::vector<Hold> HandOvers::holds(ProcessId process, const std::string& lock, TimeRange range) const {
  const auto of_lock = holds_.find({process, lock});
  if (of_lock == holds_.end()) {
    return {};
  }
  const std::vector<Hold>& all = of_lock->second;
  const auto after = std::lower_bound(all.begin(), all.end(), range.start_ns,
                                      [](const Hold& hold, std::int64_t time_ns) { return hold.start_ns < time_ns; });
  std::vector<Hold> found;
  // Of one lock, only the hold before can last into the interval.
  for (auto before = after; before != all.begin() && std::prev(before)->latest_end_ns > range.start_ns; --before) {
    const bool lasts = std::prev(before)->end_ns > range.start_ns;
    if (after - before > most_namesakes || (lasts && !found.empty())) {
      return {};
    }
    if (lasts) {
      found.push_back(*std::prev(before));
    }
  }
  for (auto next = after; next != all.end() && next->start_ns < range.end_ns; ++next) {
    if (!found.empty() && next->start_ns < found.back().end_ns) {
      return {};
    }
    found.push_back(*next);
  }
  return found;
}

std::span<const Arrival> HandOvers::arrivals(TrackId track, TimeRange range) const {
  const auto of_track = arrivals_.find(track);
  if (of_track == arrivals_.end()) {
    return {};
  }
  const auto is_before = [](std::int64_t time_ns, const Arrival& arrival) { return time_ns < arrival.time_ns; };
  const std::vector<Arrival>& all = of_track->second;
  const auto first = std::upper_bound(all.begin(), all.end(), range.start_ns, is_before);
  const auto last = std::upper_bound(first, all.end(), range.end_ns, is_before);
  return {all.data() + (first - all.begin()), static_cast<std::size_t>(last - first)};
}

std::optional<ThreadWake> HandOvers::wake_of(ThreadId thread, TimeRange wait) const {
  const auto of_thread = wakes_.find(thread);
  if (of_thread == wakes_.end()) {
    return std::nullopt;
  }
  const std::vector<ThreadWake>& all = of_thread->second;
  const auto after =
      std::upper_bound(all.begin(), all.end(), wait.end_ns,
                       [](std::int64_t time_ns, const ThreadWake& wake) { return time_ns < wake.time_ns; });
  return after != all.begin() && std::prev(after)->time_ns >= wait.start_ns ? std::optional(*std::prev(after))
                                                                            : std::nullopt;
}

std::optional<std::int64_t> HandOvers::last_sent_to(TrackId queue, std::int64_t time_ns) const {
  const std::span<const Arrival> before = arrivals(queue, {std::numeric_limits<std::int64_t>::min(), time_ns - 1});
  return before.empty() ? std::nullopt : std::optional(before.back().sent_ns);
}

TrackId HandOvers::thread_of(ProcessId process, const std::string& name) const {
  const auto found = threads_.find({process, name});
  return found != threads_.end() && found->second.size() == 1 ? found->second.front() : TrackId{};
}

TrackId HandOvers::last_queue(ProcessId process, TimeRange range, std::int64_t slack_ns, bool must_be_idle) const {
  const auto queues = queues_.find(process);
  if (queues == queues_.end()) {
    return {};
  }
  TrackId best{};
  std::int64_t best_ns = std::max(range.start_ns, range.end_ns - slack_ns - 1);
  for (const TrackId queue : queues->second) {
    const std::vector<QueueWork>& all = work_.at(queue);
    const auto after =
        std::upper_bound(all.begin(), all.end(), range.end_ns,
                         [](std::int64_t time_ns, const QueueWork& one) { return time_ns < one.end_ns; });
    const bool is_busy = after != all.end() && after->start_ns < range.end_ns;
    if (after == all.begin() || std::prev(after)->end_ns <= best_ns || (must_be_idle && is_busy)) {
      continue;
    }
    best = queue;
    best_ns = std::prev(after)->end_ns;
  }
  return best;
}

TrackId HandOvers::queue_ended_by(ProcessId process, TimeRange range, bool is_blocked) const {
  const std::int64_t length_ns = range.end_ns - range.start_ns;
  return last_queue(process, range, std::max<std::int64_t>(50'000, length_ns / 50), !is_blocked);
}

TrackId HandOvers::queue_idle_since(ProcessId process, TimeRange range) const {
  return last_queue(process, range, range.end_ns - range.start_ns, true);
}

std::vector<QueueWork> HandOvers::work(TrackId queue, TimeRange range) const {
  std::vector<QueueWork> found;
  const auto of_queue = work_.find(queue);
  if (of_queue == work_.end()) {
    return found;
  }
  const std::vector<QueueWork>& all = of_queue->second;
  auto next = std::upper_bound(all.begin(), all.end(), range.start_ns,
                               [](std::int64_t time_ns, const QueueWork& one) { return time_ns < one.end_ns; });
  std::int64_t reached_ns = range.start_ns;
  // By ascending end: the next to end owns the time up to its end.
  for (; next != all.end() && reached_ns < range.end_ns; ++next) {
    const std::int64_t start_ns = std::max(next->start_ns, reached_ns);
    const std::int64_t end_ns = std::min(next->end_ns, range.end_ns);
    if (start_ns < end_ns) {
      found.push_back({start_ns, end_ns, next->track, next->name});
      reached_ns = end_ns;
    }
    if (next->end_ns > range.end_ns) {
      break;
    }
  }
  return found;
}

}  // namespace kymo::stats
