// Joules of one span.
#include "stats/energy/span_energy.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "capture/merge/id_translation.hpp"
#include "stats/energy/load_changes.hpp"
#include "timeline/observed_threads.hpp"

namespace kymo::stats {

namespace {

/// Within this margin, a source read every second has a reading before and one after a span.
constexpr std::int64_t least_margin_ns = 3'000'000'000;
/// Limit of intervals in which others ran: 32 MB.
constexpr std::size_t most_stretches = std::size_t{1} << 21U;

}  // namespace

/// A change of a track's share of the power.
struct SpanEnergyQuestion::Turn {
  std::int64_t time_ns = 0;
  TrackId track;
  std::int32_t by = 0;   ///< change in the number of running items on it
  Weight new_load = {};  ///< its load from here on, if `by` is 0
};

SpanEnergyQuestion::SpanEnergyQuestion(const Declarations& declared, TrackId track, TimeRange span)
    : track_(track), span_(span), loads_(declared), power_(declared, {}) {
  ProcessId process{1};
  for (const TrackDeclaration& known : declared.tracks) {
    if (known.id == track) {
      process = known.process;
      kind_ = known.kind;
    }
  }
  machine_ = &power_.machine_of(process);
  for (const TrackDeclaration& known : declared.tracks) {
    if (known.kind == kind_ && &power_.machine_of(known.process) == machine_) {
      sharers_[known.id] = {};
    }
  }
  for (const auto& [shared, threads] : timeline::threads_of_tracks(declared)) {
    for (const ThreadId thread : threads) {
      if (sharers_.count(shared) != 0) {
        track_of_[thread] = shared;
      }
    }
  }
  std::int64_t longest_ns = 0;
  for (const PowerSource& source : power_.sources()) {
    if (is_of_span(source)) {
      for (const auto* metrics : {&source.source.metrics, &source.source.counters}) {
        for (const MetricDeclaration& metric : *metrics) {
          longest_ns = std::max({longest_ns, metric.renewal_ns, metric.window_ns});
        }
      }
    }
  }
  const std::int64_t margin = std::clamp(longest_ns, least_margin_ns / 3, std::int64_t{1} << 40U) * 3;
  reach_ = {capture::add_times(span.start_ns, -margin), capture::add_times(span.end_ns, margin)};
}

bool SpanEnergyQuestion::is_of_span(const PowerSource& source) const {
  const PowerSide side = kind_ == TrackKind::queue ? PowerSide::gpu : PowerSide::machine;
  return kind_ != TrackKind::async && source.machine == machine_ && source.source.side == side;
}

bool SpanEnergyQuestion::has_source() const {
  return std::any_of(power_.sources().begin(), power_.sources().end(),
                     [this](const PowerSource& source) { return is_of_span(source); });
}

void SpanEnergyQuestion::take(const EventBatch& batch) {
  for (const SampleRun& run : batch.samples) {
    loads_.add(run);
    power_.take(run, reach_);
  }
  if (kind_ == TrackKind::thread) {
    take_states(batch);
  }
  if (kind_ == TrackKind::queue) {
    take_spans(batch);
  } else {
    take_runs(batch);
  }
}

SpanJoules SpanEnergyQuestion::finish() {
  power_.finish();
  SpanJoules result;
  result.is_whole = is_whole_;
  for (const PowerSource& source : power_.sources()) {
    const auto& metrics = source.source.metrics;
    result.is_estimated |= is_of_span(source) && std::any_of(metrics.begin(), metrics.end(), [](const auto& metric) {
                             return (metric.traits & MetricDeclaration::estimated) != 0;
                           });
  }
  const PowerSideCurves none;
  const PowerSideCurves& side = kind_ == TrackKind::async   ? none
                                : kind_ == TrackKind::queue ? machine_->gpu
                                                            : machine_->machine;
  result.renewal_ns = side.renewal_ns();
  result.energy =
      is_whole_ || kind_ == TrackKind::async ? side.between(span_.start_ns, span_.end_ns) : share(side, result);
  return result;
}

void SpanEnergyQuestion::add_stretch(TrackId track, std::int64_t start_ns, std::int64_t end_ns) {
  start_ns = std::max(start_ns, span_.start_ns);
  end_ns = std::min(end_ns, span_.end_ns);
  if (start_ns >= end_ns || is_whole_) {
    return;
  }
  if (stretches_.size() >= most_stretches) {
    is_whole_ = true;
    stretches_.clear();
    return;
  }
  stretches_.push_back({track, start_ns, end_ns});
}

void SpanEnergyQuestion::take_spans(const EventBatch& batch) {
  for (const SpanEvent& span : batch.spans) {
    if (sharers_.count(span.track) != 0) {
      add_stretch(span.track, span.start_ns, capture::add_times(span.start_ns, span.duration_ns));
    }
  }
}

void SpanEnergyQuestion::take_states(const EventBatch& batch) {
  for (const StateRun& run : batch.states) {
    const auto track = track_of_.find(run.thread);
    if (track == track_of_.end() || states_taken_ >= most_stretches) {
      continue;
    }
    std::vector<ThreadState>& known = states_[track->second];
    std::copy_if(run.states.begin(), run.states.end(), std::back_inserter(known), [this](const ThreadState& state) {
      return state.start_ns < reach_.end_ns && state.end_ns() > reach_.start_ns;
    });
    states_taken_ += run.states.size();
  }
}

/// What the threads did, by their states and by samples.
std::vector<LoadChange> SpanEnergyQuestion::find_loads(std::int64_t shortest_ns) {
  std::vector<LoadStep> steps;
  for (auto& [track, states] : states_) {
    std::sort(states.begin(), states.end(),
              [](const ThreadState& a, const ThreadState& b) { return a.start_ns < b.start_ns; });
    append_steps(track, states, reach_, steps);
  }
  for (const LoadChange& change : loads_.changes(shortest_ns)) {
    steps.push_back({change.time_ns, change.track, change.load, true});
  }
  std::vector<LoadChange> changes;
  JoinedLoads().join(std::move(steps), changes);
  return changes;
}

/// Intervals with any open scope.
void SpanEnergyQuestion::take_runs(const EventBatch& batch) {
  for (const ScopeRun& run : batch.runs) {
    loads_.add(run);
    if (run.track == track_ || sharers_.count(run.track) == 0) {
      continue;
    }
    bool is_open = !run.open_at_start.empty();
    std::int64_t start_ns = is_open ? run.open_at_start.front().start_ns : 0;
    for (const ScopeEvent& event : run.events) {
      if (event.depth != 0) {
        continue;
      }
      if (is_open) {
        add_stretch(run.track, start_ns, event.time_ns);
      }
      is_open = event.is_open();
      start_ns = event.time_ns;
    }
    // Scopes still open end in a later batch, or else continue: a batch says nothing about the time after a track's
    // last event.
    Sharer& sharer = sharers_[run.track];
    if (run.end_sequence >= sharer.end_sequence) {
      sharer.end_sequence = run.end_sequence;
      sharer.is_open = is_open;
      sharer.open_since_ns = start_ns;
    }
  }
}

void SpanEnergyQuestion::end_open_ones() {
  for (const auto& [track, sharer] : sharers_) {
    if (sharer.is_open) {
      add_stretch(track, sharer.open_since_ns, span_.end_ns);
    }
  }
}

/// Sorts the intervals and merges overlapping ones from several batches.
void SpanEnergyQuestion::join_stretches() {
  std::sort(stretches_.begin(), stretches_.end(), [](const Stretch& a, const Stretch& b) {
    return a.track != b.track ? a.track < b.track : a.start_ns < b.start_ns;
  });
  std::vector<Stretch> joined;
  for (const Stretch& stretch : stretches_) {
    if (!joined.empty() && joined.back().track == stretch.track && stretch.start_ns <= joined.back().end_ns) {
      joined.back().end_ns = std::max(joined.back().end_ns, stretch.end_ns);
    } else {
      joined.push_back(stretch);
    }
  }
  stretches_ = std::move(joined);
}

std::vector<SpanEnergyQuestion::Turn> SpanEnergyQuestion::make_turns(const std::vector<LoadChange>& loads) const {
  std::vector<Turn> turns;
  for (const Stretch& stretch : stretches_) {
    turns.push_back({stretch.start_ns, stretch.track, 1});
    if (stretch.end_ns < span_.end_ns) {
      turns.push_back({stretch.end_ns, stretch.track, -1});
    }
  }
  for (const LoadChange& change : loads) {
    if (change.time_ns < span_.end_ns && sharers_.count(change.track) != 0) {
      turns.push_back({change.time_ns, change.track, 0, change.load});
    }
  }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.time_ns < b.time_ns; });
  return turns;
}

Energy SpanEnergyQuestion::share(const PowerSideCurves& side, SpanJoules& result) {
  const std::vector<LoadChange> loads =
      kind_ == TrackKind::thread ? find_loads(side.shortest_piece_ns()) : std::vector<LoadChange>();
  result.by_cpu_time = !loads.empty();
  if (kind_ == TrackKind::thread) {
    end_open_ones();
    join_stretches();
    stretches_.push_back({track_, span_.start_ns, span_.end_ns});
  }
  result.is_shared = stretches_.size() > 1;
  for (auto& entry : sharers_) {
    entry.second.load = result.by_cpu_time ? ThreadLoads::unknown : Weight();
  }
  EnergySharing sharing(side.curves, result.by_cpu_time ? ThreadLoads::unknown.most : Weight().most);
  bool is_begun = false;
  // Sharers running at the span's start are counted before it: it never had the power alone then.
  const auto begin = [&] {
    sharing.advance(span_.start_ns);
    sharing.change(0, kind_ == TrackKind::thread ? sharers_[track_].load : Weight(), 1);
    is_begun = true;
  };
  for (const Turn& turn : make_turns(loads)) {
    if (!is_begun && turn.time_ns > span_.start_ns) {
      begin();
    }
    if (is_begun) {
      sharing.advance(turn.time_ns);
    }
    Sharer& sharer = sharers_[turn.track];
    if (turn.by != 0) {
      sharer.running += turn.by;
      sharing.change_sharers(sharer.load * turn.by, turn.by);
      continue;
    }
    const Weight more = turn.new_load - sharer.load;
    sharer.load = turn.new_load;
    sharing.change_sharers(more * sharer.running, 0);
    if (is_begun && turn.track == track_) {
      sharing.change(0, more, 0);
    }
  }
  if (!is_begun) {
    begin();
  }
  sharing.advance(span_.end_ns);
  sharing.change(0, kind_ == TrackKind::thread ? -sharers_[track_].load : -Weight(), -1);
  // Advances to the end of the piece in which the span ended: the others are only known to continue.
  sharing.advance(reach_.end_ns);
  sharing.finish();
  return sharing.energy_of(0);
}

}  // namespace kymo::stats
