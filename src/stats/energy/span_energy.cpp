// Joules of one span.
#include "stats/energy/span_energy.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/merge/id_translation.hpp"
#include "stats/energy/load_changes.hpp"
#include "stats/energy/power_machine.hpp"
#include "stats/energy/thread_loads.hpp"
#include "timeline/observed_threads.hpp"

namespace kymo::stats {

namespace {

/// Within this margin, a source read every second has a reading before and one after a span.
constexpr std::int64_t least_margin_ns = 3'000'000'000;
/// Limit of intervals in which others ran: 32 MB.
constexpr std::size_t most_stretches = std::size_t{1} << 21U;

std::string machine_name(const Declarations& declared, ProcessId id) {
  for (const ProcessDeclaration& process : declared.processes) {
    if (process.id == id) {
      return process.boot_id.empty() ? "host " + process.host : process.boot_id;
    }
  }
  return {};
}

/// A metric's samples, in order of arrival.
struct Samples {
  MetricSeries series;

  void add(const SampleRun& run, TimeRange reach) {
    for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
      if (run.times_ns[i] >= reach.start_ns && run.times_ns[i] <= reach.end_ns) {
        series.times_ns.push_back(run.times_ns[i]);
        series.values.push_back(run.values[i]);
        series.flags.push_back(i < run.flags.size() ? run.flags[i] : std::uint8_t{0});
      }
    }
  }

  [[nodiscard]] MetricSeries sorted() const {
    std::vector<std::size_t> order(series.times_ns.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(),
                     [this](std::size_t a, std::size_t b) { return series.times_ns[a] < series.times_ns[b]; });
    MetricSeries sorted;
    for (const std::size_t i : order) {
      sorted.times_ns.push_back(series.times_ns[i]);
      sorted.values.push_back(series.values[i]);
      sorted.flags.push_back(series.flags[i]);
    }
    return sorted;
  }
};

/// An interval in which a track ran.
struct Stretch {
  TrackId track;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// A change of a track's share of the power.
struct Turn {
  std::int64_t time_ns = 0;
  TrackId track;
  std::int32_t by = 0;   ///< change in the number of running items on it
  Weight new_load = {};  ///< its load from here on, if `by` is 0
};

}  // namespace

class SpanEnergyQuestion::Implementation {
 public:
  Implementation(const Declarations& declared, TrackId track, TimeRange span)
      : track_(track), span_(span), loads_(declared) {
    ProcessId process{1};
    for (const TrackDeclaration& known : declared.tracks) {
      if (known.id == track) {
        process = known.process;
        kind_ = known.kind;
      }
    }
    const std::string machine = machine_name(declared, process);
    for (const TrackDeclaration& known : declared.tracks) {
      if (known.kind == kind_ && machine_name(declared, known.process) == machine) {
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
    std::vector<MetricDeclaration> metrics;
    for (const MetricDeclaration& metric : declared.metrics) {
      if (machine_name(declared, metric.process) == machine) {
        metrics.push_back(metric);
      }
    }
    const PowerSide side = kind_ == TrackKind::queue ? PowerSide::gpu : PowerSide::machine;
    std::int64_t longest_ns = 0;
    for (base::ChosenSource& source : base::choose_power_sources(metrics).sources) {
      if (kind_ != TrackKind::async && source.side == side) {
        for (const auto* metrics_of : {&source.metrics, &source.counters}) {
          for (const MetricDeclaration& metric : *metrics_of) {
            longest_ns = std::max({longest_ns, metric.renewal_ns, metric.window_ns});
            samples_[metric.id] = {};
          }
        }
        sources_.push_back(std::move(source));
      }
    }
    const std::int64_t margin = std::clamp(longest_ns, least_margin_ns / 3, std::int64_t{1} << 40U) * 3;
    reach_ = {capture::add_times(span.start_ns, -margin), capture::add_times(span.end_ns, margin)};
  }

  [[nodiscard]] bool has_source() const { return !sources_.empty(); }
  [[nodiscard]] TimeRange reach() const { return reach_; }
  void share_nothing() { is_whole_ = true; }

  void take(const EventBatch& batch) {
    for (const SampleRun& run : batch.samples) {
      loads_.add(run);
      if (const auto found = samples_.find(run.metric); found != samples_.end()) {
        found->second.add(run, reach_);
      }
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

  SpanJoules finish() {
    SpanJoules result;
    result.is_whole = is_whole_;
    PowerSideCurves side;
    std::vector<PowerCurve> curves;
    curves.reserve(sources_.size());
    for (const base::ChosenSource& source : sources_) {
      for (const MetricDeclaration& metric : source.metrics) {
        result.is_estimated = result.is_estimated || (metric.traits & MetricDeclaration::estimated) != 0;
      }
      curves.emplace_back(source.method, source.metrics.front(), series_of(source.metrics));
      if (!source.counters.empty()) {
        curves.back().add_counter(
            PowerCurve(EnergyMethod::counter, source.counters.front(), series_of(source.counters)));
      }
      side.curves.push_back(&curves.back());
    }
    side.leave_out_silent();
    result.renewal_ns = side.renewal_ns();
    result.energy = is_whole_ ? side.between(span_.start_ns, span_.end_ns) : share(side, result);
    return result;
  }

 private:
  struct Sharer {
    std::int32_t running = 0;
    Weight load;
    std::uint64_t end_sequence = 0;  ///< of its events, when last seen
    bool is_open = false;            ///< at that point
    std::int64_t open_since_ns = 0;
  };

  [[nodiscard]] std::vector<MetricSeries> series_of(const std::vector<MetricDeclaration>& metrics) const {
    std::vector<MetricSeries> series;
    series.reserve(metrics.size());
    for (const MetricDeclaration& metric : metrics) {
      series.push_back(samples_.at(metric.id).sorted());
    }
    return series;
  }

  void add_stretch(TrackId track, std::int64_t start_ns, std::int64_t end_ns) {
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

  void take_spans(const EventBatch& batch) {
    for (const SpanEvent& span : batch.spans) {
      if (sharers_.count(span.track) != 0) {
        add_stretch(span.track, span.start_ns, capture::add_times(span.start_ns, span.duration_ns));
      }
    }
  }

  void take_states(const EventBatch& batch) {
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
  [[nodiscard]] std::vector<LoadChange> find_loads(std::int64_t shortest_ns) {
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
  void take_runs(const EventBatch& batch) {
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

  void end_open_ones() {
    for (const auto& [track, sharer] : sharers_) {
      if (sharer.is_open) {
        add_stretch(track, sharer.open_since_ns, span_.end_ns);
      }
    }
  }

  /// Sorts the intervals and merges overlapping ones from several batches.
  void join_stretches() {
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

  [[nodiscard]] std::vector<Turn> make_turns(const std::vector<LoadChange>& loads) const {
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

  Energy share(const PowerSideCurves& side, SpanJoules& result) {
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

  TrackId track_;
  TimeRange span_;
  TimeRange reach_;
  TrackKind kind_ = TrackKind::thread;
  ThreadLoads loads_;
  std::vector<base::ChosenSource> sources_;
  std::unordered_map<MetricId, Samples> samples_;
  std::unordered_map<TrackId, Sharer> sharers_;
  std::unordered_map<ThreadId, TrackId> track_of_;                // of the sharers' observed threads
  std::unordered_map<TrackId, std::vector<ThreadState>> states_;  // around the span
  std::size_t states_taken_ = 0;
  std::vector<Stretch> stretches_;
  bool is_whole_ = false;
};

SpanEnergyQuestion::SpanEnergyQuestion(const Declarations& declared, TrackId track, TimeRange span)
    : implementation_(std::make_unique<Implementation>(declared, track, span)) {}
SpanEnergyQuestion::SpanEnergyQuestion(SpanEnergyQuestion&&) noexcept = default;
SpanEnergyQuestion& SpanEnergyQuestion::operator=(SpanEnergyQuestion&&) noexcept = default;
SpanEnergyQuestion::~SpanEnergyQuestion() = default;

bool SpanEnergyQuestion::has_source() const {
  return implementation_->has_source();
}
TimeRange SpanEnergyQuestion::reach() const {
  return implementation_->reach();
}
void SpanEnergyQuestion::take(const EventBatch& batch) {
  implementation_->take(batch);
}
void SpanEnergyQuestion::share_nothing() {
  implementation_->share_nothing();
}
SpanJoules SpanEnergyQuestion::finish() {
  return implementation_->finish();
}

}  // namespace kymo::stats
