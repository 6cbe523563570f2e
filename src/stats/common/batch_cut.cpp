// Cuts batches down to a selection.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/time_math.hpp"
#include "capture/merge/id_translation.hpp"
#include "stats/common/power_curve.hpp"
#include "stats/common/selection.hpp"

namespace kymo::stats {

using timeline::SkippedBlocks;

namespace {

/// Converts a time of the timeline's axis to the capture's own; the limits of all time stay unchanged.
std::int64_t own_time(std::int64_t time_ns, std::int64_t offset_ns) {
  const bool is_end =
      time_ns == std::numeric_limits<std::int64_t>::min() || time_ns == std::numeric_limits<std::int64_t>::max();
  std::int64_t own_ns = 0;
  if (is_end || __builtin_sub_overflow(time_ns, offset_ns, &own_ns)) {
    return time_ns;
  }
  return own_ns;
}

/// Updates the open scopes by an event.
void apply(const ScopeEvent& event, std::vector<OpenScope>& open) {
  open.resize(std::min<std::size_t>(open.size(), event.depth));
  if (event.is_open() && open.size() < capture::deepest_scope) {
    open.push_back({event.time_ns, event.site});
  }
}

}  // namespace

void cover(EventBatch& batch, const ScopeRun& run) {
  if (!run.events.empty()) {
    batch.start_ns = std::min(batch.start_ns, run.events.front().time_ns);
    batch.end_ns = std::max(batch.end_ns, run.events.back().time_ns);
  }
}

BatchCut::BatchCut(const Timeline& timeline, const timeline::Source& source, const Selection& selection)
    : timeline_(timeline), source_(source), selection_(selection), choice_(selection.range()) {
  const TimeRange range = selection.range();
  const std::int64_t offset_ns = source.shift().offset_ns;
  hull_ = {own_time(range.start_ns, offset_ns), own_time(range.end_ns, offset_ns), true};
}

bool BatchCut::needs(std::size_t block) {
  return !selection_.cuts_time() ||
         choice_.needs(source_.start_ns(block), source_.end_ns(block), block + 1 == source_.block_count());
}

BatchCut::Stretch BatchCut::stretch_of(ProcessId process) const {
  const TimeRange range = selection_.range_of(process);
  const std::int64_t offset_ns = source_.shift().offset_ns;
  return {own_time(range.start_ns, offset_ns), own_time(range.end_ns, offset_ns), range.start_ns < range.end_ns};
}

BatchCut::Track& BatchCut::track_of(TrackId own) {
  Track& track = tracks_[own];
  if (!track.is_known) {
    const TrackDeclaration& declared = timeline_.track(source_.find(own));
    track.is_known = true;
    track.stretch = stretch_of(declared.process);
    track.stretch.is_taken = track.stretch.is_taken && selection_.takes_track(declared);
    track.cut = RunCut({track.stretch.start_ns, track.stretch.end_ns});
  }
  return track;
}

/// Makes a run begin at its event `first`, or at the interval's start, with the scopes open there.
void RunCut::begin_within(ScopeRun& run, std::size_t first) {
  // Arguments that were given before the interval are left out.
  run.arguments.erase(run.arguments.begin(),
                      std::find_if(run.arguments.begin(), run.arguments.end(),
                                   [first](const ScopeArgument& argument) { return argument.position >= first; }));
  for (ScopeArgument& argument : run.arguments) {
    argument.position += static_cast<std::uint32_t>(open_.size() - first);
  }
  ScopeEvents events;
  events.reserve(open_.size() + run.events.size() - first);
  for (const OpenScope& open : open_) {
    events.push_back({std::max(open.start_ns, least_ns_), open.site, static_cast<std::uint16_t>(events.size()), 0});
  }
  events.insert(events.end(), run.events.begin() + static_cast<std::ptrdiff_t>(first), run.events.end());
  run.events = std::move(events);
  run.open_at_start.clear();
  open_.clear();
  has_begun_ = true;
}

void RunCut::close(std::int64_t time_ns, ScopeRun& run) {
  run.first_sequence = next_sequence_;
  run.end_sequence = next_sequence_;
  run.events.clear();
  run.arguments.clear();
  run.open_at_start = open_;
  if (!has_begun_) {
    begin_within(run, 0);
    for (const ScopeEvent& event : run.events) {
      apply(event, open_);
    }
  }
  append_closes(time_ns, run);
  is_over_ = true;
}

void RunCut::append_closes(std::int64_t time_ns, ScopeRun& run) {
  for (; !open_.empty(); open_.pop_back()) {
    run.events.push_back({time_ns, {}, static_cast<std::uint16_t>(open_.size() - 1), 0});
  }
}

bool RunCut::cut_unnamed(ScopeRun& run, SkippedBlocks skipped) {
  if (is_over_) {
    return false;
  }
  if (skipped == SkippedBlocks::before) {
    open_.clear();
    is_seen_ = false;
  } else if (skipped == SkippedBlocks::after && !open_.empty()) {
    close(interval_.end_ns, run);
    return true;
  }
  return false;
}

bool RunCut::cut(ScopeRun& run, SkippedBlocks skipped, std::int64_t first_ns) {
  if (is_over_) {
    return false;
  }
  if (std::exchange(is_new_, false)) {
    least_ns_ = std::max(interval_.start_ns, first_ns);
  }
  if (skipped == SkippedBlocks::after && is_seen_ && run.first_sequence != next_sequence_) {
    close(interval_.end_ns, run);
    return true;
  }
  is_seen_ = true;
  next_sequence_ = run.end_sequence;
  if (!has_begun_) {
    // Scopes that end exactly at the interval's start are outside.
    // An idle thread of a block that came late may have opened scopes after the interval.
    open_ = run.open_at_start;
    std::erase_if(open_, [this](const OpenScope& open) { return open.start_ns >= interval_.end_ns; });
    std::size_t first = 0;
    for (; first < run.events.size(); ++first) {
      const ScopeEvent& event = run.events[first];
      if (event.time_ns > interval_.start_ns || (event.time_ns == interval_.start_ns && event.is_open())) {
        break;
      }
      apply(event, open_);
    }
    if (first == run.events.size()) {
      return false;
    }
    begin_within(run, first);
  } else {
    for (OpenScope& open : run.open_at_start) {
      open.start_ns = std::max(open.start_ns, least_ns_);
    }
    open_ = run.open_at_start;
  }
  const auto beyond = std::find_if(run.events.begin(), run.events.end(),
                                   [this](const ScopeEvent& event) { return event.time_ns >= interval_.end_ns; });
  is_over_ = beyond != run.events.end();
  run.events.erase(beyond, run.events.end());
  if (is_over_) {
    std::erase_if(run.arguments,
                  [&run](const ScopeArgument& argument) { return argument.position > run.events.size(); });
  }
  for (const ScopeEvent& event : run.events) {
    apply(event, open_);
  }
  if (is_over_) {
    append_closes(interval_.end_ns, run);
  }
  return true;
}

bool BatchCut::cut_run(ScopeRun& run, std::int64_t first_ns) {
  Track& track = track_of(run.track);
  return track.stretch.is_taken && !track.cut.is_over() &&
         (!selection_.cuts_time() || track.cut.cut(run, choice_.skipped(), first_ns));
}

bool BatchCut::cut_span(SpanEvent& span) {
  const Stretch& stretch = track_of(span.track).stretch;
  const std::int64_t end_ns = base::add_length(span.start_ns, span.duration_ns);
  const bool reaches_into =
      span.start_ns < stretch.end_ns && (end_ns > stretch.start_ns || span.start_ns >= stretch.start_ns);
  span.start_ns = std::max(span.start_ns, stretch.start_ns);
  span.duration_ns = nanoseconds_between(span.start_ns, std::min(end_ns, stretch.end_ns));
  return stretch.is_taken && reaches_into;
}

void BatchCut::cut_samples(EventBatch& batch) {
  for (SampleRun& run : batch.samples) {
    const Stretch stretch = stretch_of(timeline_.metric(source_.find(run.metric)).process);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
      if (stretch.is_taken && stretch.holds(run.times_ns[i])) {
        run.times_ns[kept] = run.times_ns[i];
        run.values[kept++] = run.values[i];
      }
    }
    run.times_ns.resize(kept);
    run.values.resize(kept);
    run.flags.clear();
  }
  std::erase_if(batch.samples, [](const SampleRun& run) { return run.times_ns.empty(); });
}

void BatchCut::cut(EventBatch& batch) {
  if (selection_.takes_every_event()) {
    return;
  }
  std::vector<ScopeRun> ended;
  if (selection_.cuts_time()) {
    const auto is_of_capture = [](const Track& /*track*/) { return true; };
    cut_unnamed(tracks_, is_of_capture, batch, choice_.skipped(),
                [&ended](ScopeRun& run, const Track& /*track*/) { ended.push_back(std::move(run)); });
  }
  const std::int64_t first_ns = choice_.needed_all() ? batch.start_ns : capture::always_ns;
  std::erase_if(batch.runs, [this, first_ns](ScopeRun& run) { return !cut_run(run, first_ns); });
  std::move(ended.begin(), ended.end(), std::back_inserter(batch.runs));
  std::erase_if(batch.spans, [this](SpanEvent& span) { return !cut_span(span); });
  std::erase_if(batch.frame_marks, [this](FrameMark& mark) {
    capture::FrameWalk& walk = frames_[mark.stream];
    walk.take(mark);
    mark.time_ns = walk.mark_ns();
    const Stretch stretch = stretch_of(timeline_.frame_stream(source_.find(mark.stream)).process);
    return !stretch.is_taken || mark.time_ns < stretch.start_ns || mark.time_ns > stretch.end_ns;
  });
  if (selection_.cuts_time()) {
    cut_samples(batch);
    batch.start_ns = std::max(std::min(batch.start_ns, hull_.end_ns), hull_.start_ns);
    batch.end_ns = std::max(std::min(batch.end_ns, hull_.end_ns), batch.start_ns);
    for (const ScopeRun& run : batch.runs) {
      cover(batch, run);
    }
  }
  batch.async_begins.clear();
  batch.messages.clear();
  batch.flows.clear();
  batch.sync_points.clear();
}

void BatchCut::close_open(EventBatch& batch) {
  batch = EventBatch();
  if (!selection_.cuts_time()) {
    return;
  }
  for (auto& [id, track] : tracks_) {
    const Stretch& stretch = track.stretch;
    const std::int64_t end_ns =
        std::min(stretch.end_ns, own_time(source_.end_ns_of(source_.find(id)), source_.shift().offset_ns));
    if (!stretch.is_taken || track.cut.is_over() || end_ns <= stretch.start_ns) {
      continue;
    }
    ScopeRun run;
    run.track = id;
    track.cut.close(end_ns, run);
    batch.end_ns = std::max(batch.end_ns, end_ns);
    if (!run.events.empty()) {
      batch.runs.push_back(std::move(run));
    }
  }
  batch.start_ns = batch.end_ns;
}

}  // namespace kymo::stats
