#include "stats/energy/power_readings.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace kymo::stats {
namespace {

void sort_by_time(MetricSeries& series) {
  if (std::is_sorted(series.times_ns.begin(), series.times_ns.end())) {
    return;
  }
  std::vector<std::size_t> order(series.times_ns.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&series](std::size_t a, std::size_t b) { return series.times_ns[a] < series.times_ns[b]; });
  MetricSeries sorted;
  for (const std::size_t i : order) {
    sorted.times_ns.push_back(series.times_ns[i]);
    sorted.values.push_back(series.values[i]);
    sorted.flags.push_back(series.flags[i]);
  }
  series = std::move(sorted);
}

}  // namespace

PowerReadings::PowerReadings(const Timeline& timeline, const std::vector<std::string>& wanted) {
  find_machines(timeline);
  for (PowerMachine& machine : machines_) {
    std::vector<MetricDeclaration> metrics;
    for (const MetricDeclaration& metric : timeline.declarations().metrics) {
      if (&machine_of(metric.process) == &machine) {
        metrics.push_back(metric);
      }
    }
    base::PowerChoice choice = base::choose_power_sources(metrics, wanted);
    for (base::ChosenSource& source : choice.sources) {
      PowerSource& entry = sources_.emplace_back();
      entry.machine = &machine;
      entry.first_series = series_.size();
      await_samples(source.metrics);
      await_samples(source.counters);
      entry.source = std::move(source);
    }
    left_out_.insert(left_out_.end(), choice.left_out.begin(), choice.left_out.end());
  }
}

void PowerReadings::await_samples(const std::vector<MetricDeclaration>& metrics) {
  for (const MetricDeclaration& metric : metrics) {
    series_places_[metric.id] = series_.size();
    series_.emplace_back();
  }
}

std::vector<MetricSeries> PowerReadings::take_series(std::size_t first, std::size_t count) {
  std::vector<MetricSeries> taken;
  taken.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) {
    sort_by_time(series_[i]);
    taken.push_back(std::move(series_[i]));
  }
  return taken;
}

void PowerReadings::find_machines(const Timeline& timeline) {
  std::map<std::string, PowerMachine*> by_name;
  for (const TimelineProcess& process : timeline.processes()) {
    const ProcessDeclaration& declared = process.declaration;
    const std::string name = declared.boot_id.empty() ? "host " + declared.host : declared.boot_id;
    PowerMachine*& machine = by_name[name];
    if (machine == nullptr) {
      machine = &machines_.emplace_back();
    }
    machine_of_[declared.id] = machine;
  }
  if (machines_.empty()) {
    machines_.emplace_back();
  }
}

PowerMachine& PowerReadings::machine_of(ProcessId process) {
  const auto found = machine_of_.find(process);
  return found != machine_of_.end() ? *found->second : machines_.front();
}

void PowerReadings::take(const SampleRun& run) {
  const auto place = series_places_.find(run.metric);
  if (place == series_places_.end()) {
    return;
  }
  MetricSeries& series = series_[place->second];
  for (std::size_t i = 0; i < run.times_ns.size() && i < run.values.size(); ++i) {
    series.times_ns.push_back(run.times_ns[i]);
    series.values.push_back(run.values[i]);
    series.flags.push_back(i < run.flags.size() ? run.flags[i] : std::uint8_t{0});
  }
}

void PowerReadings::finish() {
  for (PowerSource& chosen : sources_) {
    const std::vector<MetricDeclaration>& metrics = chosen.source.metrics;
    const std::vector<MetricDeclaration>& counters = chosen.source.counters;
    chosen.curve = PowerCurve(chosen.source.method, metrics.front(), take_series(chosen.first_series, metrics.size()));
    if (!counters.empty()) {
      chosen.curve.add_counter(PowerCurve(EnergyMethod::counter, counters.front(),
                                          take_series(chosen.first_series + metrics.size(), counters.size())));
    }
    PowerSideCurves& side = chosen.source.side == PowerSide::gpu ? chosen.machine->gpu : chosen.machine->machine;
    side.curves.push_back(&chosen.curve);
  }
  for (PowerMachine& machine : machines_) {
    machine.machine.leave_out_silent();
    machine.gpu.leave_out_silent();
  }
}

}  // namespace kymo::stats
