#include "capture/summary/accumulator.hpp"

#include <algorithm>
#include <vector>

#include "base/order.hpp"
#include "base/time_math.hpp"

namespace kymo::capture {

SummaryAccumulator::SummaryAccumulator(unsigned shift) {
  summary_.clear(shift);
}

void SummaryAccumulator::add_times(const EventBatch& batch, std::uint32_t block_number) {
  if (!has_begun_) {
    has_begun_ = true;
    summary_.start_ns = batch.start_ns;
    floor_ns_ = batch.start_ns;
    last_batch_end_ns_ = batch.start_ns;
    summary_.end_ns = batch.start_ns;
  }
  batch_before_end_ns_ = last_batch_end_ns_;
  last_batch_end_ns_ = std::max(last_batch_end_ns_, batch.end_ns);
  summary_.end_ns = std::max(summary_.end_ns, batch.end_ns);
  summary_.first_block = summary_.blocks == 0 ? block_number : summary_.first_block;
  summary_.last_block = block_number;
  ++summary_.blocks;
}

void SummaryAccumulator::add(const EventBatch& batch, std::uint32_t block_number) {
  add_times(batch, block_number);
  for (const ScopeRun& run : batch.runs) {
    add_run(run, batch.start_ns);
  }
  for (const TrackEnd& end : batch.track_ends) {
    forget_ended(end.track);
  }
  add_spans(batch);
  add_frames(batch);
  for (const StateRun& run : batch.states) {
    summary_.states.add(run);  // of earlier time too: a state is handed in where it ends
  }
  for (const SampleRun& run : batch.samples) {
    const std::size_t count = std::min(run.times_ns.size(), run.values.size());
    MetricSummary& metric = summary_.metrics[run.metric];
    for (std::size_t i = 0; i < count; ++i) {
      metric.add(run.times_ns[i], run.values[i]);
    }
  }
}

void SummaryAccumulator::add_spans(const EventBatch& batch) {
  for (const SpanEvent& span : batch.spans) {
    summary_.span_names[span.name].durations.record(std::max<std::int64_t>(span.duration_ns, 0));
    summary_.coverage.add(span.track, 0, span.name, std::max(span.start_ns, floor_ns_),
                          base::add_length(span.start_ns, span.duration_ns));
  }
}

void SummaryAccumulator::add_frames(const EventBatch& batch) {
  // Marks of several threads are grouped by thread.
  std::vector<base::Ordered> order;
  for (const FrameMark& mark : batch.frame_marks) {
    order.push_back({base::order_key(mark.time_ns), order.size()});
  }
  base::put_in_order(order);
  for (const base::Ordered& next : order) {
    const FrameMark& mark = batch.frame_marks[next.place];
    FrameWalk& walk = frames_[mark.stream];
    const bool ends_frame = walk.take(mark);
    if (mark.is_break) {
      continue;
    }
    FrameStreamSummary& stream = summary_.frame_streams[mark.stream];
    if (ends_frame) {
      stream.frame_times.record(walk.duration_ns());
    }
    ++stream.marks;
    stream.last_mark_ns = walk.mark_ns();
  }
}

void SummaryAccumulator::complete_track(TrackId id, TrackState& track, std::int64_t until_ns) {
  track.cursor.flush(summary_.coverage, id, track.stack, until_ns);
  if (track.stack.depth() == 0 && track.dropped_scopes == 0 && track.dropped_others == 0) {
    return;
  }
  TrackSummary& to = summary_.tracks[id];
  to.dropped_scopes = track.dropped_scopes;
  to.dropped_others = track.dropped_others;
  to.next_sequence = track.stack.next_sequence();
  to.open.clear();
  for (std::size_t depth = 0; depth < track.stack.depth(); ++depth) {
    to.open.push_back(track.stack[depth]);
  }
}

/// Programs may start and end thousands of threads.
void SummaryAccumulator::forget_ended(TrackId id) {
  const auto found = tracks_.find(id);
  if (found != tracks_.end() && found->second.stack.depth() == 0) {
    complete_track(id, found->second, found->second.last_event_ns);
    tracks_.erase(found);
  }
}

const Summary& SummaryAccumulator::complete(bool at_end) {
  // The collector drains one track after the other while they continue. So a track's events from before the end of the
  // previous batch may still be missing. A track's own last event is later and certain.
  const std::int64_t known_until_ns = at_end ? last_batch_end_ns_ : batch_before_end_ns_;
  for (PendingScopes& pending : pending_) {
    count_pending(pending);
  }
  for (TrackSummary& track : summary_.tracks) {
    track.open.clear();
  }
  for (auto& [id, track] : tracks_) {
    complete_track(id, track, std::max(track.last_event_ns, known_until_ns));
  }
  return summary_;
}

void SummaryAccumulator::begin_next() {
  // The others begin as new ones do.
  std::erase_if(tracks_, [](const auto& track) {
    return track.second.stack.depth() == 0 && track.second.dropped_scopes == 0 && track.second.dropped_others == 0;
  });
  const std::uint8_t level = summary_.level;
  const std::int64_t end_ns = summary_.end_ns;
  const unsigned shift = summary_.coverage.shift();
  // The next summary is probably as long as this one; starting one fold finer keeps its bins as fine.
  const unsigned states_shift = summary_.states.shift();
  summary_.clear(shift - 1);
  summary_.states.clear(states_shift - 1);
  summary_.level = level;
  summary_.start_ns = end_ns;
  summary_.end_ns = end_ns;
  floor_ns_ = batch_before_end_ns_;
}

void SummaryAccumulator::resume(const Summary& before) {
  complete(false);
  tracks_.clear();
  for (const TrackSummary& track : before.tracks) {
    TrackState& state = tracks_[track.id];
    state.cursor = CoverageCursor(before.end_ns);
    state.dropped_scopes = track.dropped_scopes;
    state.dropped_others = track.dropped_others;
    state.stack.set_dropped(track.dropped_scopes);
    state.stack.resume(track.next_sequence);
    for (const ScopeStack::Level& open : track.open) {
      state.stack.restore(open);
    }
  }
  for (const FrameStreamSummary& stream : before.frame_streams) {
    if (stream.marks != 0) {
      frames_[stream.id] = FrameWalk::after_mark(stream.last_mark_ns);
    }
  }
  if (!has_begun_) {
    has_begun_ = true;
    summary_.start_ns = before.end_ns;
    summary_.end_ns = before.end_ns;
    floor_ns_ = before.end_ns;
    last_batch_end_ns_ = before.end_ns;
  }
}

}  // namespace kymo::capture
