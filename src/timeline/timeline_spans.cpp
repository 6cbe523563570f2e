// Spans of a timeline: by track and range, by visiting all, and those never ended.
#include <algorithm>
#include <map>

#include <kymo/batch_cursor.hpp>

#include "base/append.hpp"
#include "timeline/open_async_spans.hpp"
#include "timeline/span_builder.hpp"
#include "timeline/timeline_implementation.hpp"
#include "timeline/track_query.hpp"

namespace kymo {

using timeline::SpanBuilder;

namespace {

/// The capture that contains a track.
std::size_t source_of(const Timeline::Implementation& timeline, TrackId track) {
  const auto& tracks = timeline.declarations_.tracks;
  if (track.index() < tracks.size()) {
    const ProcessId process = tracks[track.index()].process;
    if (process.index() < timeline.processes_.size()) {
      return timeline.processes_[process.index()].capture;
    }
  }
  const std::uint32_t id = track.value();
  const bool says_source = (id & 0x80000000U) != 0 && id != 0xFFFFFFFFU;  // timeline::undeclared_id
  return says_source ? (id >> 20U) & 0x7FFU : 0;
}

/// Whether the end of a capture says how many scopes each track recorded: that of a flight recorder says only how many
/// were dropped.
bool states_recorded(const CaptureReader& capture) {
  const auto& totals = capture.end().tracks;
  const auto& blocks = capture.blocks();
  return capture.is_closed() && (std::any_of(totals.begin(), totals.end(),
                                             [](const TrackTotals& track) { return track.recorded_scopes != 0; }) ||
                                 std::none_of(blocks.begin(), blocks.end(), [](const BlockInfo& block) {
                                   return block.kind == BlockKind::events && block.scope_events != 0;
                                 }));
}

}  // namespace

SpanList Timeline::spans(TrackId track, TimeRange range) const {
  const std::size_t source = source_of(*implementation_, track);
  if (source >= implementation_->sources_.size()) {
    return {};
  }
  const bool is_lane = this->track(track).kind == TrackKind::async;
  return timeline::spans_of_track(*implementation_->sources_[source], track, is_lane, range);
}

void Timeline::visit_spans(const std::function<bool(const SpanList&)>& visit,
                           const std::function<void(double)>& on_progress) const {
  struct State {
    std::map<TrackId, SpanBuilder> builders;
    timeline::OpenAsyncSpans async;
  };
  const auto& sources = implementation_->sources_;
  std::vector<State> states(sources.size());
  SpanList list;
  BatchCursor cursor(*this);
  for (EventBatch batch; cursor.next(batch);) {
    State& state = states[cursor.capture()];
    list.clear();
    for (const ScopeRun& run : batch.runs) {
      state.builders.try_emplace(run.track, run.track).first->second.take(run, batch.text, list);
    }
    timeline::append_span_events(batch, {}, list);
    state.async.take(batch);
    if (!list.spans.empty() && !visit(list)) {
      return;
    }
    if (on_progress) {
      on_progress(cursor.share_done());
    }
  }
  list.clear();
  for (std::size_t source = 0; source < states.size(); ++source) {
    const auto end_ns_of = [&from = *sources[source]](TrackId track) { return from.end_ns_of(track); };
    for (const auto& [track, builder] : states[source].builders) {
      builder.append_open(end_ns_of(track), Span::open, list);
    }
    states[source].async.take_end(sources[source]->reader().end().tracks);
    states[source].async.append(end_ns_of, list);
  }
  if (!list.spans.empty()) {
    visit(list);
  }
}

SpanList Timeline::open_spans() const {
  SpanList list;
  for (const auto& source : implementation_->sources_) {
    // Every block names the open scopes of all tracks, so the last intact one suffices.
    EventBatch batch;
    for (std::size_t block = source->block_count(); block > 0; --block) {
      if (!source->read(block - 1, BatchParts::everything, batch)) {
        continue;
      }
      SpanList ended;
      for (const ScopeRun& run : batch.runs) {
        SpanBuilder builder(run.track);
        builder.take(run, batch.text, ended);
        builder.append_open(source->end_ns_of(run.track), Span::open, list);
        ended.clear();
      }
      break;
    }
    const bool has_lanes = std::any_of(tracks().begin(), tracks().end(),
                                       [](const TrackDeclaration& track) { return track.kind == TrackKind::async; });
    if (has_lanes) {
      base::append(list.spans, source->open_async());
    }
  }
  return list;
}

std::vector<TrackTotals> Timeline::totals() const {
  std::map<TrackId, TrackTotals> all;
  // Threads without a track share the id 0 in every capture.
  TrackTotals trackless;
  for (const auto& source : implementation_->sources_) {
    if (const auto shared = all.extract(TrackId{})) {
      trackless.dropped_scopes += shared.mapped().dropped_scopes;
      trackless.dropped_others += shared.mapped().dropped_others;
    }
    if (source->reader().is_closed()) {
      for (TrackTotals totals : source->reader().end().tracks) {
        totals.track = source->find(totals.track);
        all[totals.track] = totals;
      }
    }
    if (states_recorded(source->reader())) {
      continue;
    }
    EventBatch batch;
    for (std::size_t block = 0; block < source->block_count(); ++block) {
      if (!source->read(block, BatchParts::scopes, batch)) {
        continue;
      }
      for (const ScopeRun& run : batch.runs) {
        TrackTotals& totals = all[run.track];
        totals.track = run.track;
        totals.recorded_scopes += static_cast<std::uint64_t>(std::count_if(
            run.events.begin(), run.events.end(), [](const ScopeEvent& event) { return event.is_open(); }));
        totals.dropped_scopes = std::max(totals.dropped_scopes, run.dropped_scopes);
        totals.dropped_others = std::max(totals.dropped_others, run.dropped_others);
        totals.end_sequence = std::max(totals.end_sequence, run.end_sequence);
      }
    }
  }
  if (trackless.dropped_scopes != 0 || trackless.dropped_others != 0) {
    all[TrackId{}].dropped_scopes += trackless.dropped_scopes;
    all[TrackId{}].dropped_others += trackless.dropped_others;
  }
  std::vector<TrackTotals> list;
  list.reserve(all.size());
  for (const auto& entry : all) {
    list.push_back(entry.second);
  }
  return list;
}

}  // namespace kymo
