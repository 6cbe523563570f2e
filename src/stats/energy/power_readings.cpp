#include "stats/energy/power_readings.hpp"

#include <algorithm>
#include <map>

#include "capture/merge/id_translation.hpp"
#include "timeline/metric_samples.hpp"

namespace kymo::stats {

Energy PowerSideCurves::between(std::int64_t start_ns, std::int64_t end_ns) const {
  Energy sum;
  double unknown_s = curves.empty() ? seconds_between(start_ns, end_ns) : 0;
  for (const PowerCurve* curve : curves) {
    const Energy energy = curve->between(start_ns, end_ns);
    unknown_s = std::max(unknown_s, energy.unknown_s);
    sum += energy;
  }
  sum.unknown_s = unknown_s;
  return sum;
}

std::int64_t PowerSideCurves::renewal_ns() const {
  std::int64_t longest = 0;
  for (const PowerCurve* curve : curves) {
    longest = std::max(longest, curve->renewal_ns());
  }
  return longest;
}

std::int64_t PowerSideCurves::shortest_piece_ns() const {
  std::int64_t shortest = 0;
  for (const PowerCurve* curve : curves) {
    for (const PowerCurve::Piece& piece : curve->pieces()) {
      const std::int64_t length = nanoseconds_between(piece.start_ns, piece.end_ns);
      if (piece.is_known && length > 0 && (shortest == 0 || length < shortest)) {
        shortest = length;
      }
    }
  }
  return shortest;
}

void PowerSideCurves::leave_out_silent() {
  const auto first_silent =
      std::stable_partition(curves.begin(), curves.end(), [](const PowerCurve* curve) { return curve->has_energy(); });
  if (first_silent != curves.begin()) {
    curves.erase(first_silent, curves.end());
  }
}

std::optional<double> PowerSideCurves::least_mean_watts() const {
  constexpr std::int64_t second_ns = 1'000'000'000;
  std::optional<double> least;
  if (curves.empty() || !curves.front()->has_energy()) {
    return least;
  }
  for (const PowerCurve::Piece& piece : curves.front()->pieces()) {
    const std::int64_t end_ns = capture::add_times(piece.start_ns, second_ns);
    if (end_ns > curves.front()->pieces().back().end_ns) {
      break;
    }
    const Energy energy = between(piece.start_ns, end_ns);
    if (energy.unknown_s <= 0) {
      least = least ? std::min(*least, energy.joules) : energy.joules;
    }
  }
  return least;
}

PowerReadings::PowerReadings(const Declarations& declared, const std::vector<std::string>& wanted) {
  find_machines(declared);
  for (PowerMachine& machine : machines_) {
    std::vector<MetricDeclaration> metrics;
    for (const MetricDeclaration& metric : declared.metrics) {
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
    timeline::sort_by_time(series_[i]);
    taken.push_back(std::move(series_[i]));
  }
  return taken;
}

void PowerReadings::find_machines(const Declarations& declared) {
  std::map<std::string, PowerMachine*> by_name;
  for (const ProcessDeclaration& process : declared.processes) {
    const std::string name = process.boot_id.empty() ? "host " + process.host : process.boot_id;
    PowerMachine*& machine = by_name[name];
    if (machine == nullptr) {
      machine = &machines_.emplace_back();
    }
    machine_of_[process.id] = machine;
  }
  if (machines_.empty()) {
    machines_.emplace_back();
  }
}

PowerMachine& PowerReadings::machine_of(ProcessId process) {
  const auto found = machine_of_.find(process);
  return found != machine_of_.end() ? *found->second : machines_.front();
}

void PowerReadings::take(const SampleRun& run, TimeRange interval) {
  if (const auto place = series_places_.find(run.metric); place != series_places_.end()) {
    const auto is_within = [interval](std::int64_t time_ns) {
      return time_ns >= interval.start_ns && time_ns <= interval.end_ns;
    };
    timeline::append_samples(run, is_within, series_[place->second]);
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
