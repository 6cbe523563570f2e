// Statistics of captures, as rows of dicts with the keys of `kymo stats --json`.
#include <cmath>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <kymo/energy.hpp>
#include <kymo/statistics.hpp>
#include <kymo/thread_activity.hpp>

#include "capture.hpp"
#include "ids.hpp"
#include "selection.hpp"
#include "text.hpp"

namespace nb = nanobind;

namespace kymo::python {
namespace {

void put_durations(const DurationStatistics& durations, nb::dict& row) {
  row["count"] = durations.count;
  row["total_ns"] = durations.total_ns;
  const auto put = [&](const char* key, auto value) {
    row[key] = durations.count != 0 ? nb::cast(value) : nb::object(nb::none());
  };
  put("mean_ns", durations.mean_ns);
  put("min_ns", durations.min_ns);
  put("p50_ns", durations.p50_ns);
  put("p95_ns", durations.p95_ns);
  put("p99_ns", durations.p99_ns);
  put("p99_9_ns", durations.p99_9_ns);
  put("max_ns", durations.max_ns);
}

void put_process(const Timeline& timeline, bool by_process, ProcessId id, std::size_t processes, nb::dict& row) {
  if (by_process) {
    row["process"] = id;
    row["pid"] = timeline.process(id).declaration.pid;
  } else {
    row["processes"] = processes;
  }
}

nb::dict make_site(const SiteDeclaration& site) {
  nb::dict row;
  row["name"] = make_text(site.name);
  row["function"] = make_text(site.function);
  row["file"] = make_text(site.file);
  row["line"] = site.line;
  return row;
}

/// None where nothing is known, which is not 0.
nb::object make_run_times(const SiteRunTimes& known) {
  if (known.scopes == 0) {
    return nb::none();
  }
  nb::dict row;
  row["scopes"] = known.scopes;
  row["total_ns"] = known.total_ns;
  row["running_ns"] = known.times.running_ns;
  row["runnable_ns"] = known.times.runnable_ns;
  row["blocked_ns"] = known.times.blocked_ns;
  return row;
}

nb::list make_sites(const Timeline& timeline, const Statistics& statistics, const std::vector<SiteRunTimes>& run_times,
                    bool by_process) {
  nb::list list;
  for (std::size_t i = 0; i < statistics.sites.size(); ++i) {
    const SiteStatistics& site = statistics.sites[i];
    const SiteDeclaration& declared = timeline.site(site.site);
    nb::dict row = make_site(declared);
    put_process(timeline, by_process, declared.process, site.processes, row);
    put_durations(site.durations, row);
    row["self_ns"] = site.self_ns;
    row["unbalanced"] = site.unbalanced;
    row["self_is_bound"] = site.self_is_bound;
    if (!run_times.empty()) {
      row["run_states"] = make_run_times(run_times[i]);
    }
    list.append(row);
  }
  return list;
}

nb::list make_metrics(const Timeline& timeline, const Statistics& statistics, bool by_process) {
  nb::list list;
  for (const MetricStatistics& metric : statistics.metrics) {
    const MetricDeclaration& declared = timeline.metric(metric.metric);
    nb::dict row;
    row["name"] = make_text(declared.name);
    row["unit"] = make_text(declared.unit);
    row["labels"] = make_dict(declared.labels);
    row["source"] = make_text(declared.source);
    put_process(timeline, by_process, declared.process, metric.processes, row);
    row["count"] = metric.count;
    const auto put = [&row](const char* key, double value) {
      row[key] = std::isnan(value) ? nb::object(nb::none()) : nb::object(nb::float_(value));
    };
    put("min", metric.min);
    put("mean", metric.mean);
    put("max", metric.max);
    put("last", metric.last);
    put("standard_deviation", metric.standard_deviation);
    put("p50", metric.p50);
    put("p95", metric.p95);
    put("p99", metric.p99);
    list.append(row);
  }
  return list;
}

nb::list make_locks(const Timeline& timeline, const Statistics& statistics) {
  nb::list list;
  for (const LockStatistics& lock : lock_statistics(timeline, statistics)) {
    nb::list holders;
    for (const HolderWaits& waits : lock.holders) {
      nb::dict row;
      row["holder"] = make_text(waits.holder);
      row["waits"] = waits.waits;
      row["total_ns"] = waits.total_ns;
      row["max_ns"] = waits.max_ns;
      holders.append(row);
    }
    nb::dict row;
    row["name"] = make_text(lock.name);
    row["file"] = make_text(lock.file);
    row["line"] = lock.line;
    row["waits"] = lock.waits;
    row["waited_ns"] = lock.waited_ns;
    row["max_wait_ns"] = lock.max_wait_ns;
    row["holds"] = lock.holds;
    row["held_ns"] = lock.held_ns;
    row["max_hold_ns"] = lock.max_hold_ns;
    row["waited_for"] = holders;
    list.append(row);
  }
  return list;
}

nb::list make_spans(const Timeline& timeline, const Statistics& statistics) {
  nb::list list;
  for (const SpanStatistics& span : statistics.spans) {
    const std::string_view name = timeline.name(span.name);
    nb::dict row;
    row["name"] = make_text(name);
    if (is_unresolved(name)) {
      row["count"] = span.durations.count;
      row["unresolved"] = true;
    } else {
      put_durations(span.durations, row);
    }
    list.append(row);
  }
  return list;
}

nb::dict statistics_of(const SnapshotHandle& snapshot, std::int64_t start_ns, std::int64_t end_ns,
                       std::vector<std::string> sites, std::vector<std::string> threads, const FrameNumbers& frames,
                       std::optional<std::uint64_t> phase, bool by_process) {
  const Timeline& timeline = *snapshot.timeline;
  Statistics statistics;
  std::vector<SiteRunTimes> run_times;
  {
    const nb::gil_scoped_release release;
    const SelectionOptions part = make_selection(start_ns, end_ns, std::move(sites), std::move(threads), frames, phase);
    statistics = read_statistics(timeline, part, by_process, true);
    run_times = read_run_times(timeline, statistics, part, by_process);
  }
  nb::list streams;
  for (const FrameStatistics& stream : statistics.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    nb::dict row;
    row["name"] = make_text(declared.name);
    put_process(timeline, by_process, declared.process, stream.processes, row);
    put_durations(stream.durations, row);
    streams.append(row);
  }
  nb::dict all;
  all["start_ns"] = timeline.range().start_ns;
  all["end_ns"] = timeline.range().end_ns;
  all["sites"] = make_sites(timeline, statistics, run_times, by_process);
  all["spans"] = make_spans(timeline, statistics);
  all["frame_streams"] = streams;
  all["metrics"] = make_metrics(timeline, statistics, by_process);
  all["locks"] = make_locks(timeline, statistics);
  all["blocks"] = statistics.blocks;
  all["blocks_decoded"] = statistics.blocks_decoded;
  all["blocks_damaged"] = statistics.blocks_damaged;
  return all;
}

void put_energy(const Energy& energy, const std::string& prefix, nb::dict& row) {
  const auto put = [&](const char* key, double value) {
    row[nb::str((prefix + key).c_str())] = energy.is_known() ? nb::object(nb::float_(value)) : nb::object(nb::none());
  };
  put("joules", energy.joules);
  put("bound_joules", energy.bound_joules);
  row[nb::str((prefix + "unknown_s").c_str())] = energy.unknown_s;
}

template <typename Thing>
void put_resolution(const Thing& thing, nb::dict& row) {
  row["count"] = thing.count;
  row["unresolved_count"] = thing.unresolved;
  row["is_resolved"] = thing.is_resolved();
}

nb::list make_sources(const EnergyStatistics& energy) {
  nb::list list;
  for (const SourceEnergy& source : energy.sources) {
    nb::dict row;
    row["name"] = make_text(source.name);
    row["feeds"] = name_of(source.side);
    row["method"] = name_of(source.method);
    row["estimated"] = source.is_estimated;
    row["renewal_ns"] = source.renewal_ns;
    put_energy(source.energy, "", row);
    row["known_s"] = source.known_s;
    row["gaps"] = source.gaps;
    list.append(row);
  }
  return list;
}

nb::list make_site_energy(const Timeline& timeline, const EnergyStatistics& energy, bool by_process) {
  nb::list list;
  for (const SiteEnergy& site : energy.sites) {
    const SiteDeclaration& declared = timeline.site(site.site);
    nb::dict row = make_site(declared);
    put_process(timeline, by_process, declared.process, site.processes, row);
    put_resolution(site, row);
    put_energy(site.inclusive, "", row);
    put_energy(site.self, "self_", row);
    row["idle_joules"] = site.idle_joules;
    list.append(row);
  }
  return list;
}

nb::list make_frame_energy(const Timeline& timeline, const EnergyStatistics& energy, bool by_process) {
  nb::list list;
  for (const FrameEnergy& stream : energy.frame_streams) {
    const FrameStreamDeclaration& declared = timeline.frame_stream(stream.stream);
    nb::dict row;
    row["name"] = make_text(declared.name);
    put_process(timeline, by_process, declared.process, stream.processes, row);
    put_resolution(stream, row);
    put_energy(stream.machine, "", row);
    put_energy(stream.gpu, "gpu_", row);
    list.append(row);
  }
  return list;
}

nb::list make_phase_energy(const EnergyStatistics& energy) {
  nb::list list;
  for (const PhaseEnergy& phase : energy.phases) {
    nb::dict row;
    row["number"] = phase.phase.number;
    row["process"] = phase.phase.process;
    row["start_ns"] = phase.phase.start_ns;
    row["end_ns"] = phase.phase.end_ns;
    row["is_resolved"] = phase.is_resolved;
    put_energy(phase.machine, "", row);
    put_energy(phase.gpu, "gpu_", row);
    list.append(row);
  }
  return list;
}

nb::dict energy_of(const SnapshotHandle& snapshot, bool by_process, const std::vector<std::string>& power_sources,
                   std::optional<double> idle_watts) {
  const Timeline& timeline = *snapshot.timeline;
  EnergyStatistics energy;
  {
    const nb::gil_scoped_release release;
    energy = read_energy(timeline, by_process, power_sources, idle_watts);
  }
  nb::list spans;
  for (const SpanEnergy& span : energy.spans) {
    nb::dict row;
    row["name"] = make_text(timeline.name(span.name));
    put_resolution(span, row);
    put_energy(span.energy, "gpu_", row);
    spans.append(row);
  }
  nb::list left_out;
  for (const auto& [name, reason] : energy.left_out) {
    nb::dict row;
    row["name"] = make_text(name);
    row["reason"] = make_text(reason);
    left_out.append(row);
  }
  nb::dict total;
  put_energy(energy.machine, "", total);
  put_energy(energy.gpu, "gpu_", total);
  total["shares_by_cpu_time"] = energy.shares_by_cpu_time;
  total["in_scopes_joules"] = energy.in_scopes_joules;
  total["idle_joules"] = energy.idle_joules;
  total["idle_watts"] = energy.idle_watts;
  total["idle_watts_given"] = energy.is_idle_given;
  nb::dict all;
  all["start_ns"] = timeline.range().start_ns;
  all["end_ns"] = timeline.range().end_ns;
  all["scopes_estimated"] = true;
  all["power_sources"] = make_sources(energy);
  all["left_out"] = left_out;
  all["total"] = total;
  all["sites"] = make_site_energy(timeline, energy, by_process);
  all["spans"] = spans;
  all["frame_streams"] = make_frame_energy(timeline, energy, by_process);
  all["phases"] = make_phase_energy(energy);
  return all;
}

}  // namespace

void add_statistics(nb::class_<SnapshotHandle>& snapshot) {
  snapshot
      .def("statistics", statistics_of, nb::kw_only(), nb::arg("start_ns"), nb::arg("end_ns"), nb::arg("sites"),
           nb::arg("threads"), nb::arg("frames").none(), nb::arg("phase").none(), nb::arg("by_process"))
      .def("energy", energy_of, nb::kw_only(), nb::arg("by_process"), nb::arg("power_sources"),
           nb::arg("idle_watts").none());
}

}  // namespace kymo::python
