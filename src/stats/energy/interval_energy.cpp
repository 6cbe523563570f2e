#include "stats/energy/interval_energy.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include <kymo/batch_cursor.hpp>

#include "base/system/unresolved.hpp"
#include "capture/merge/id_translation.hpp"
#include "stats/energy/sharing_threads.hpp"
#include "stats/statistics/scope_order.hpp"

namespace kymo::stats {

namespace {

/// One sweep over time. It is cut at the ends of all intervals; between two cuts each user is a consumer of its own.
class IntervalSweep {
 public:
  IntervalSweep(const Timeline& timeline, PowerReadings& power, const std::vector<EnergyInterval>& intervals)
      : timeline_(timeline), power_(power), intervals_(intervals), threads_(timeline, power) {
    for (const EnergyInterval& interval : intervals) {
      cuts_.push_back(interval.range.start_ns);
      cuts_.push_back(interval.range.end_ns);
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    of_segment_.resize(cuts_.size() + 1);
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      const auto first = std::lower_bound(cuts_.begin(), cuts_.end(), intervals[i].range.start_ns);
      const auto last = std::lower_bound(first, cuts_.end(), intervals[i].range.end_ns);
      for (auto cut = first; cut != last; ++cut) {
        of_segment_[static_cast<std::size_t>(cut - cuts_.begin()) + 1].push_back(i);
      }
    }
  }

  std::vector<DividedEnergy> run(const std::function<void(double)>& on_progress) {
    ScopeOrder order(timeline_);
    ScopeOrderVisitor visitor;
    visitor.on_batch = [this](const EventBatch& batch) { threads_.survey(batch); };
    visitor.on_scope = [&](const OrderedScopeEvent& event) { take_scope(order.track_of(event.track), event); };
    visitor.on_span = [this](const QueueSpan& span) { take_span(span); };
    visitor.on_progress = on_progress;
    order.run(visitor);
    begin();
    cross_scopes(timeline_.range().end_ns);
    cross_spans(std::numeric_limits<std::int64_t>::max());
    for (PowerMachine& machine : power_.machines()) {
      machine.scopes->advance(timeline_.range().end_ns);
      machine.scopes->finish();
      machine.spans->finish();
    }
    return collect();
  }

 private:
  struct Thread {
    PowerMachine* machine = nullptr;
    TrackId track;
    std::vector<SiteId> open;
    Weight load;
    ConsumerId consumer = 0;  // of the innermost scope
  };
  struct OpenSpan {
    EnergyUser user;
    PowerMachine* machine = nullptr;
    ConsumerId consumer = 0;
  };
  struct Consumer {
    EnergyUser user;
    std::size_t segment = 0;
  };
  /// Consumer 0 is everyone outside of the intervals, and those for whom there is no room.
  static constexpr ConsumerId nobody = 0;

  void begin() {
    if (!threads_.has_begun()) {
      threads_.begin(true);
    }
  }

  ConsumerId consumer_of(const EnergyUser& user, std::size_t segment) {
    if (of_segment_[segment].empty()) {
      return nobody;
    }
    const auto key = std::tuple(segment, user.track, user.site, user.span);
    const auto known = numbers_.find(key);
    if (known != numbers_.end()) {
      return known->second;
    }
    if (consumers_.size() == IntervalEnergies::most_parts) {
      return nobody;
    }
    consumers_.push_back({user, segment});
    return numbers_.emplace(key, static_cast<ConsumerId>(consumers_.size() - 1)).first->second;
  }

  void take_scope(TrackId track, const OrderedScopeEvent& event) {
    begin();
    Thread& thread = threads_.at(track, event.track);
    thread.track = track;
    cross_scopes(event.time_ns);
    thread.machine->scopes->advance(event.time_ns);
    if (event.site) {
      leave(thread);
      if (thread.open.empty()) {
        thread.machine->scopes->change_sharers(thread.load, 1);
      }
      thread.open.push_back(event.site);
      enter(thread);
    } else if (!thread.open.empty()) {
      leave(thread);
      thread.open.pop_back();
      if (thread.open.empty()) {
        thread.machine->scopes->change_sharers(-thread.load, -1);
      }
      enter(thread);
    }
  }

  void enter(Thread& thread) {
    if (!thread.open.empty()) {
      thread.consumer = consumer_of({thread.track, thread.open.back(), {}}, scope_segment_);
      thread.machine->scopes->change(thread.consumer, thread.load, 1);
    }
  }
  static void leave(Thread& thread) {
    if (!thread.open.empty()) {
      thread.machine->scopes->change(thread.consumer, -thread.load, -1);
    }
  }

  /// Goes on to a time: loads change, and the intervals' ends are cut.
  void cross_scopes(std::int64_t until_ns) {
    while (scope_segment_ < cuts_.size() && cuts_[scope_segment_] <= until_ns) {
      change_loads(cuts_[scope_segment_]);
      for (PowerMachine& machine : power_.machines()) {
        machine.scopes->advance(cuts_[scope_segment_]);
      }
      ++scope_segment_;
      for (Thread& thread : threads_.all()) {
        leave(thread);
        enter(thread);
      }
    }
    change_loads(until_ns);
  }

  void change_loads(std::int64_t until_ns) {
    threads_.change_loads(
        until_ns, [](Thread& thread, const Weight& by) { thread.machine->scopes->change(thread.consumer, by, 0); });
  }

  void take_span(const QueueSpan& span) {
    if (base::is_unresolved(timeline_.name(span.name))) {
      return;  // its energy is unknown, and other work used the power meanwhile
    }
    begin();
    cross_spans(span.start_ns);
    OpenSpan open{{span.track, {}, span.name}, &power_.machine_of(timeline_.track(span.track).process), nobody};
    open.consumer = consumer_of(open.user, span_segment_);
    open.machine->spans->advance(span.start_ns);
    open.machine->spans->change_sharers(Weight(), 1);
    open.machine->spans->change(open.consumer, Weight(), 1);
    open_spans_.emplace(capture::add_times(span.start_ns, span.duration_ns), open);
  }

  void cross_spans(std::int64_t until_ns) {
    while (span_segment_ < cuts_.size() && cuts_[span_segment_] <= until_ns) {
      end_spans(cuts_[span_segment_]);
      for (PowerMachine& machine : power_.machines()) {
        machine.spans->advance(cuts_[span_segment_]);
      }
      ++span_segment_;
      for (auto& [end_ns, span] : open_spans_) {
        span.machine->spans->change(span.consumer, -Weight(), -1);
        span.consumer = consumer_of(span.user, span_segment_);
        span.machine->spans->change(span.consumer, Weight(), 1);
      }
    }
    end_spans(until_ns);
  }

  void end_spans(std::int64_t until_ns) {
    while (!open_spans_.empty() && open_spans_.begin()->first <= until_ns) {
      const auto& [end_ns, span] = *open_spans_.begin();
      span.machine->spans->advance(end_ns);
      span.machine->spans->change(span.consumer, -Weight(), -1);
      span.machine->spans->change_sharers(-Weight(), -1);
      open_spans_.erase(open_spans_.begin());
    }
  }

  std::vector<DividedEnergy> collect() {
    std::vector<std::map<std::tuple<TrackId, SiteId, NameId>, EnergyPart>> parts(intervals_.size());
    for (ConsumerId id = 1; id < consumers_.size(); ++id) {
      const auto& [user, segment] = consumers_[id];
      PowerMachine& machine = power_.machine_of(timeline_.track(user.track).process);
      const EnergySharing& sharing = user.span ? *machine.spans : *machine.scopes;
      for (const std::size_t interval : of_segment_[segment]) {
        if (&power_.machine_of(intervals_[interval].process) == &machine) {
          EnergyPart& part = parts[interval][{user.track, user.site, user.span}];
          part.user = user;
          part.joules += sharing.energy_of(id).joules;
          part.share_s += sharing.share_s(id);
        }
      }
    }
    std::vector<DividedEnergy> divided(intervals_.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (const auto& [key, part] : parts[i]) {
        divided[i].parts.push_back(part);
      }
    }
    return divided;
  }

  const Timeline& timeline_;
  PowerReadings& power_;
  const std::vector<EnergyInterval>& intervals_;
  std::vector<std::int64_t> cuts_;
  std::vector<std::vector<std::size_t>> of_segment_;  // the intervals that cover it; segment i ends at cut i
  std::size_t scope_segment_ = 0;
  std::size_t span_segment_ = 0;
  SharingThreads<Thread> threads_;
  std::multimap<std::int64_t, OpenSpan> open_spans_;  // by end
  std::vector<Consumer> consumers_{1};
  std::map<std::tuple<std::size_t, TrackId, SiteId, NameId>, ConsumerId> numbers_;
};

}  // namespace

IntervalEnergies::IntervalEnergies(const Timeline& timeline)
    : timeline_(timeline), power_(timeline.declarations(), {}) {
  BatchCursor cursor(timeline, {}, BatchParts::samples);
  for (EventBatch batch; has_sources() && cursor.next(batch);) {
    for (const SampleRun& run : batch.samples) {
      power_.take(run);
    }
  }
  power_.finish();
}

Energy IntervalEnergies::between(const EnergyInterval& interval) {
  const PowerMachine& machine = power_.machine_of(interval.process);
  const auto of_side = [&](const PowerSideCurves& side) {
    return side.curves.empty() ? Energy() : side.between(interval.range.start_ns, interval.range.end_ns);
  };
  const Energy of_machine = of_side(machine.machine);
  Energy energy = of_side(machine.gpu);
  const double unknown_s = std::max(of_machine.unknown_s, energy.unknown_s);
  energy += of_machine;
  energy.unknown_s = machine.machine.curves.empty() && machine.gpu.curves.empty()
                         ? seconds_between(interval.range.start_ns, interval.range.end_ns)
                         : unknown_s;
  return energy;
}

std::int64_t IntervalEnergies::renewal_ns(ProcessId process) {
  const PowerMachine& machine = power_.machine_of(process);
  return std::max(machine.machine.renewal_ns(), machine.gpu.renewal_ns());
}

std::vector<DividedEnergy> IntervalEnergies::divide(const std::vector<EnergyInterval>& intervals,
                                                    const std::function<void(double)>& on_progress) {
  return IntervalSweep(timeline_, power_, intervals).run(on_progress);
}

}  // namespace kymo::stats
