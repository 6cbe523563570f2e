#include "stats/energy/energy.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include <kymo/batch_cursor.hpp>

#include "base/system/unresolved.hpp"
#include "capture/merge/id_translation.hpp"
#include "capture/summary/frame_walk.hpp"
#include "stats/common/site_rows.hpp"
#include "stats/common/system_processes.hpp"
#include "stats/energy/sharing_threads.hpp"
#include "stats/statistics/scope_order.hpp"

namespace kymo::stats {

namespace {

class EnergyGathering {
 public:
  EnergyGathering(const Timeline& timeline, const EnergyOptions& options)
      : timeline_(timeline),
        options_(options),
        power_(timeline.declarations(), options.power_sources),
        threads_(timeline, power_),
        rows_(timeline, options.by_process) {}

  EnergyStatistics run() {
    result_.left_out = power_.left_out();
    if (power_.sources().empty()) {
      return std::move(result_);
    }
    if (options_.only_totals) {
      BatchCursor cursor(timeline_, {}, BatchParts::samples);
      for (EventBatch batch; cursor.next(batch);) {
        survey(batch);
      }
      begin_sharing();
      put_totals();
      return std::move(result_);
    }
    ScopeOrder order(timeline_);
    ScopeOrderVisitor visitor;
    visitor.on_batch = [this](const EventBatch& batch) { survey(batch); };
    visitor.on_scope = [&](const OrderedScopeEvent& event) { take_scope(order.track_of(event.track), event); };
    visitor.on_span = [this](const QueueSpan& span) { take_span(span); };
    visitor.on_progress = options_.on_progress;
    order.run(visitor);
    begin_sharing();
    finish_sharing();
    put_totals();
    put_sites();
    put_spans();
    put_frames();
    put_phases();
    return std::move(result_);
  }

 private:
  /// The scopes of a row of sites.
  struct ScopeCount {
    std::uint64_t count = 0;
    std::uint64_t unresolved = 0;
  };
  struct SpanRow {
    NameId name;
    std::uint64_t count = 0;
    std::uint64_t unresolved = 0;
  };
  struct OpenScopeOfThread {
    std::uint32_t row = 0;
    std::int64_t start_ns = 0;
  };
  struct Thread {
    PowerMachine* machine = nullptr;
    std::vector<OpenScopeOfThread> open;
    std::unordered_map<std::uint32_t, std::uint32_t> depth_of_row;  // for recursion
    Weight load;                                                    // in sharing power with other threads
  };
  struct FrameMarks {
    capture::FrameWalk walk;
    std::vector<FrameMark> all;  // each at the time at which it counts
  };

  static ConsumerId inclusive_of(std::uint32_t row) { return 2 * row; }
  static ConsumerId self_of(std::uint32_t row) { return 2 * row + 1; }

  /// The first pass: power samples and frame marks.
  void survey(const EventBatch& batch) {
    for (const SampleRun& run : batch.samples) {
      power_.take(run);
    }
    threads_.survey(batch);
    for (const FrameMark& mark : batch.frame_marks) {
      FrameMarks& marks = frame_marks_[mark.stream];
      marks.walk.take(mark);
      marks.all.push_back(mark);
      marks.all.back().time_ns = marks.walk.mark_ns();
    }
  }

  /// Between the passes: the curves and the machines' sharing.
  void begin_sharing() {
    if (threads_.has_begun()) {
      return;
    }
    power_.finish();
    threads_.begin(!options_.only_totals);
    result_.shares_by_cpu_time = threads_.by_cpu_time();
    for (PowerMachine& machine : power_.machines()) {
      machine.idle_watts = options_.idle_watts ? options_.idle_watts : machine.machine.least_mean_watts();
    }
  }

  void take_scope(TrackId track, const OrderedScopeEvent& event) {
    begin_sharing();
    Thread& thread = threads_.at(track, event.track);
    change_loads(event.time_ns);
    EnergySharing& sharing = *thread.machine->scopes;
    sharing.advance(event.time_ns);
    if (event.site) {
      open_scope(thread, sharing, event);
    } else if (!thread.open.empty()) {
      close_scope(thread, sharing, event.time_ns);
    }
  }

  void change_loads(std::int64_t until_ns) {
    threads_.change_loads(until_ns, [](Thread& thread, const Weight& by) {
      EnergySharing& sharing = *thread.machine->scopes;
      sharing.change(self_of(thread.open.back().row), by, 0);
      for (const auto& [row, depth] : thread.depth_of_row) {
        if (depth != 0) {
          sharing.change(inclusive_of(row), by, 0);
        }
      }
    });
  }

  void open_scope(Thread& thread, EnergySharing& sharing, const OrderedScopeEvent& event) {
    const std::uint32_t row = rows_.row_of(event.site);
    if (thread.open.empty()) {
      sharing.change_sharers(thread.load, 1);
    } else {
      sharing.change(self_of(thread.open.back().row), -thread.load, -1);
    }
    sharing.change(self_of(row), thread.load, 1);
    if (thread.depth_of_row[row]++ == 0) {
      sharing.change(inclusive_of(row), thread.load, 1);
    }
    thread.open.push_back({row, event.start_ns});
  }

  void close_scope(Thread& thread, EnergySharing& sharing, std::int64_t time_ns) {
    const OpenScopeOfThread ended = thread.open.back();
    thread.open.pop_back();
    sharing.change(self_of(ended.row), -thread.load, -1);
    if (--thread.depth_of_row[ended.row] == 0) {
      sharing.change(inclusive_of(ended.row), -thread.load, -1);
    }
    if (thread.open.empty()) {
      sharing.change_sharers(-thread.load, -1);
    } else {
      sharing.change(self_of(thread.open.back().row), thread.load, 1);
    }
    count_scope(*thread.machine, ended, time_ns);
  }

  void count_scope(const PowerMachine& machine, const OpenScopeOfThread& scope, std::int64_t end_ns) {
    counts_.resize(rows_.rows().size());
    ScopeCount& row = counts_[scope.row];
    ++row.count;
    row.unresolved += is_shorter(scope.start_ns, end_ns, machine.machine) ? 1U : 0U;
  }

  static bool is_shorter(std::int64_t start_ns, std::int64_t end_ns, const PowerSideCurves& side) {
    return seconds_between(start_ns, end_ns) < static_cast<double>(side.renewal_ns()) / 1e9;
  }

  static void end_spans(PowerMachine& machine, std::int64_t until_ns) {
    while (!machine.span_ends.empty() && machine.span_ends.top().first <= until_ns) {
      const auto [end_ns, consumer] = machine.span_ends.top();
      machine.span_ends.pop();
      machine.spans->advance(end_ns);
      machine.spans->change(consumer, -Weight(), -1);
      machine.spans->change_sharers(-Weight(), -1);
    }
  }

  void take_span(const QueueSpan& span) {
    if (base::is_unresolved(timeline_.name(span.name))) {
      return;  // its energy is unknown, and other work used the power meanwhile
    }
    begin_sharing();
    PowerMachine& machine = power_.machine_of(timeline_.track(span.track).process);
    const auto [place, is_new] =
        row_of_span_.try_emplace(std::string(timeline_.name(span.name)), static_cast<std::uint32_t>(span_rows_.size()));
    if (is_new) {
      span_rows_.push_back({span.name, 0, 0});
    }
    const std::int64_t end_ns = capture::add_times(span.start_ns, span.duration_ns);
    SpanRow& row = span_rows_[place->second];
    ++row.count;
    row.unresolved += is_shorter(span.start_ns, end_ns, machine.gpu) ? 1U : 0U;
    end_spans(machine, span.start_ns);
    machine.spans->advance(span.start_ns);
    machine.spans->change_sharers(Weight(), 1);
    machine.spans->change(place->second, Weight(), 1);
    machine.span_ends.emplace(end_ns, place->second);
  }

  void finish_sharing() {
    const std::int64_t end_ns = timeline_.range().end_ns;
    change_loads(end_ns);
    for (const Thread& thread : threads_.all()) {
      for (const OpenScopeOfThread& scope : thread.open) {
        count_scope(*thread.machine, scope, end_ns);
      }
    }
    for (PowerMachine& machine : power_.machines()) {
      machine.scopes->advance(end_ns);
      machine.scopes->finish();
      end_spans(machine, std::numeric_limits<std::int64_t>::max());
      machine.spans->finish();
    }
  }

  void put_totals() {
    const TimeRange range = timeline_.range();
    for (const PowerSource& choice : power_.sources()) {
      SourceEnergy source;
      source.name = choice.source.name;
      source.metric = choice.source.metrics.front().id;
      source.side = choice.source.side;
      source.method = choice.source.method;
      source.is_estimated = (choice.source.metrics.front().traits & MetricDeclaration::estimated) != 0;
      source.renewal_ns = choice.curve.renewal_ns();
      source.energy = choice.curve.between(range.start_ns, range.end_ns);
      source.known_s = choice.curve.known_s();
      source.gaps = choice.curve.gap_count();
      result_.sources.push_back(std::move(source));
    }
    result_.is_idle_given = options_.idle_watts.has_value();
    for (PowerMachine& machine : power_.machines()) {
      const Energy whole = machine.machine.between(range.start_ns, range.end_ns);
      result_.machine += whole;
      result_.gpu += machine.gpu.between(range.start_ns, range.end_ns);
      for (std::uint32_t row = 0; row < rows_.rows().size(); ++row) {
        result_.in_scopes_joules += machine.scopes->energy_of(self_of(row)).joules;
      }
      if (machine.idle_watts && !machine.machine.curves.empty()) {
        const double known_s = std::max(seconds_between(range.start_ns, range.end_ns) - whole.unknown_s, 0.0);
        result_.idle_watts = result_.idle_watts.value_or(0) + *machine.idle_watts;
        result_.idle_joules += std::min(*machine.idle_watts * known_s, whole.joules);
      }
    }
  }

  void put_sites() {
    counts_.resize(rows_.rows().size());
    for (std::uint32_t index = 0; index < rows_.rows().size(); ++index) {
      SiteEnergy site;
      site.site = rows_.rows()[index].site;
      site.processes = rows_.rows()[index].processes.size();
      site.count = counts_[index].count;
      site.unresolved = counts_[index].unresolved;
      for (const PowerMachine& machine : power_.machines()) {
        const Energy inclusive = machine.scopes->energy_of(inclusive_of(index));
        site.inclusive += inclusive;
        site.self += machine.scopes->energy_of(self_of(index));
        const double idle_joules = machine.idle_watts.value_or(0) * machine.scopes->share_s(inclusive_of(index));
        site.idle_joules += std::min(idle_joules, inclusive.joules);
      }
      result_.sites.push_back(site);
    }
    std::stable_sort(result_.sites.begin(), result_.sites.end(),
                     [](const SiteEnergy& a, const SiteEnergy& b) { return a.inclusive.joules > b.inclusive.joules; });
  }

  void put_spans() {
    for (std::uint32_t index = 0; index < span_rows_.size(); ++index) {
      SpanEnergy span{span_rows_[index].name, span_rows_[index].count, span_rows_[index].unresolved, {}};
      for (const PowerMachine& machine : power_.machines()) {
        span.energy += machine.spans->energy_of(index);
      }
      result_.spans.push_back(span);
    }
    std::stable_sort(result_.spans.begin(), result_.spans.end(),
                     [](const SpanEnergy& a, const SpanEnergy& b) { return a.energy.joules > b.energy.joules; });
  }

  /// Adds the frames between marks that follow each other.
  static void put_frames_between(std::span<const FrameMark> marks, const PowerMachine& machine, FrameEnergy& row) {
    if (marks.size() < 2) {
      return;
    }
    row.count += marks.size() - 1;
    for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
      row.unresolved += is_shorter(marks[i].time_ns, marks[i + 1].time_ns, machine.machine) ? 1U : 0U;
    }
    // Frames are contiguous, so only the start of the first and the end of the last are uncertain.
    row.machine += machine.machine.between(marks.front().time_ns, marks.back().time_ns);
    row.gpu += machine.gpu.between(marks.front().time_ns, marks.back().time_ns);
  }

  void put_frames() {
    std::map<std::pair<ProcessId, std::string>, FrameEnergy> rows;
    std::map<std::pair<ProcessId, std::string>, std::set<ProcessId>> owners;
    const SystemProcesses processes(timeline_);
    for (const auto& [stream, marks] : frame_marks_) {
      if (marks.all.size() < 2) {
        continue;
      }
      const FrameStreamDeclaration& declared = timeline_.frame_stream(stream);
      const PowerMachine& machine = power_.machine_of(declared.process);
      const std::pair<ProcessId, std::string> key(options_.by_process ? declared.process : ProcessId{}, declared.name);
      FrameEnergy& row = rows.try_emplace(key, FrameEnergy{stream, 0, 0, 0, {}, {}}).first->second;
      owners[key].insert(processes.of(declared.process));
      row.processes = owners[key].size();
      const std::span<const FrameMark> all(marks.all);
      for (std::size_t first = 0, end = 0; end <= all.size(); ++end) {
        if (end == all.size() || all[end].is_break) {
          put_frames_between(all.subspan(first, end - first), machine, row);
          first = end + 1;
        }
      }
    }
    for (const auto& [key, row] : rows) {
      result_.frame_streams.push_back(row);
    }
  }

  void put_phases() {
    for (const Phase& phase : timeline_.phases()) {
      const PowerMachine& machine = power_.machine_of(phase.process);
      result_.phases.push_back({phase, !is_shorter(phase.start_ns, phase.end_ns, machine.machine),
                                machine.machine.between(phase.start_ns, phase.end_ns),
                                machine.gpu.between(phase.start_ns, phase.end_ns)});
    }
  }

  const Timeline& timeline_;
  const EnergyOptions& options_;
  EnergyStatistics result_;
  std::map<FrameStreamId, FrameMarks> frame_marks_;
  PowerReadings power_;
  SharingThreads<Thread> threads_;
  SiteRows rows_;
  std::vector<ScopeCount> counts_;  // by row
  std::map<std::string, std::uint32_t> row_of_span_;
  std::vector<SpanRow> span_rows_;
};

}  // namespace

EnergyStatistics gather_energy(const Timeline& timeline, const EnergyOptions& options) {
  return EnergyGathering(timeline, options).run();
}

}  // namespace kymo::stats
