#include "stats/energy/function_energy.hpp"

#include <algorithm>
#include <cmath>

#include <kymo/batch_cursor.hpp>

#include "capture/merge/id_translation.hpp"
#include "stats/energy/power_readings.hpp"

namespace kymo::stats {

SampleEnergy::SampleEnergy(const Timeline& timeline, const std::vector<std::string>& wanted,
                           const std::function<void(double)>& on_progress) {
  PowerReadings power(timeline.declarations(), wanted);
  has_source_ = !power.sources().empty();
  if (!has_source_) {
    return;
  }
  BatchCursor readings(timeline, {}, BatchParts::samples);
  for (EventBatch batch; readings.next(batch);) {
    std::for_each(batch.samples.begin(), batch.samples.end(), [&](const SampleRun& run) { power.take(run); });
  }
  power.finish();
  std::map<const PowerMachine*, Machine> numbers;
  for (const PowerMachine& machine : power.machines()) {
    numbers.emplace(&machine, static_cast<Machine>(stretches_ns_.size()));
    stretches_ns_.push_back(std::max(least_stretch_ns, machine.machine.renewal_ns()));
  }
  for (const ThreadDeclaration& thread : timeline.declarations().threads) {
    machines_of_.push_back(numbers.at(&power.machine_of(thread.process)));
  }
  BatchCursor stacks(timeline, {}, BatchParts::stacks);
  for (EventBatch batch; stacks.next(batch);) {
    for (const StackSample& sample : batch.stack_samples) {
      if (sample.is_wait()) {
        continue;
      }
      ++stretches_[place_of(sample)].samples;
    }
    if (on_progress) {
      on_progress(stacks.share_done());
    }
  }
  for (auto& [place, stretch] : stretches_) {
    const auto& [number, index] = place;
    const std::int64_t start_ns = index * stretches_ns_[number];
    const auto machine = power.machines().begin() + static_cast<std::ptrdiff_t>(number);
    stretch.energy = machine->machine.between(start_ns, capture::add_times(start_ns, stretches_ns_[number]));
  }
}

std::pair<SampleEnergy::Machine, std::int64_t> SampleEnergy::place_of(const StackSample& sample) const {
  const Machine machine = sample.thread.index() < machines_of_.size() ? machines_of_[sample.thread.index()] : 0;
  const std::int64_t length_ns = stretches_ns_[machine];
  return {machine, sample.time_ns / length_ns - (sample.time_ns % length_ns < 0 ? 1 : 0)};
}

Energy SampleEnergy::of(const StackSample& sample) const {
  const auto found = has_source_ ? stretches_.find(place_of(sample)) : stretches_.end();
  if (found == stretches_.end()) {
    return {};
  }
  Energy part = found->second.energy;
  const auto samples = static_cast<double>(found->second.samples);
  part.joules /= samples;
  part.bound_joules /= samples;
  part.unknown_s /= samples;
  return part;
}

void SampleEnergy::add_sampling_error(SampledFunctions& found) const {
  if (!has_source_ || found.samples == 0) {
    return;
  }
  double squares = 0;
  for (const auto& [place, stretch] : stretches_) {
    squares += stretch.energy.joules * stretch.energy.joules / static_cast<double>(stretch.samples);
  }
  std::uint64_t samples = 0;
  for (const auto& [place, stretch] : stretches_) {
    samples += stretch.samples;
  }
  constexpr double z = 1.959964;  // 95 % of a normal distribution
  const auto error = [&](std::uint64_t hits) {
    // Two more of each kind, so that what was never or always found is not called certain (Agresti and Coull).
    const double share = (static_cast<double>(hits) + 2) / (static_cast<double>(samples) + 4);
    return z * std::sqrt(squares * share * (1 - share));
  };
  for (FunctionStatistics& row : found.functions) {
    row.self_energy.bound_joules += error(row.self);
    row.total_energy.bound_joules += error(row.total);
  }
}

SampledFunctions gather_functions_with_energy(const Timeline& timeline, FunctionOptions options,
                                              const std::vector<std::string>& wanted) {
  const SampleEnergy energy(timeline, wanted, options.on_progress);
  if (energy.has_source()) {
    options.energy_of = [&energy](const StackSample& sample) { return energy.of(sample); };
  }
  SampledFunctions found = gather_functions(timeline, options);
  energy.add_sampling_error(found);
  found.has_energy = energy.has_source();
  return found;
}

}  // namespace kymo::stats
