// Joules per function: the power of a machine, shared by the samples of its threads.
//
// Time is cut into stretches no shorter than the renewal of the power's sources. In each, all samples of the machine's
// threads have equal parts of its energy. A stretch without samples gives its energy to nobody.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <kymo/energy.hpp>
#include <kymo/timeline.hpp>

#include "stats/statistics/function_statistics.hpp"

namespace kymo::stats {

/// The energy of each sample. Constant after construction.
class SampleEnergy {
 public:
  /// Two passes over the timeline, of samples alone. `wanted`: as for base::choose_power_sources().
  SampleEnergy(const Timeline& timeline, const std::vector<std::string>& wanted,
               const std::function<void(double)>& on_progress = {});

  /// Whether any power was recorded.
  [[nodiscard]] bool has_source() const { return has_source_; }
  /// A sample's part, with that of the bound of the power. Unknown where the power could not be read.
  [[nodiscard]] Energy of(const StackSample& sample) const;
  /// Widens the bounds by what chance may do: a function's samples are a random part of those of a stretch. With the
  /// energies of all samples selected, the bounds then hold with 95 % confidence.
  void add_sampling_error(SampledFunctions& found) const;

  static constexpr std::int64_t least_stretch_ns = 100'000'000;

 private:
  struct Stretch {
    std::uint64_t samples = 0;
    Energy energy;  ///< of all samples
  };
  using Machine = std::uint32_t;

  [[nodiscard]] std::pair<Machine, std::int64_t> place_of(const StackSample& sample) const;

  std::vector<Machine> machines_of_;        // by thread
  std::vector<std::int64_t> stretches_ns_;  // by machine
  std::map<std::pair<Machine, std::int64_t>, Stretch> stretches_;
  bool has_source_ = false;
};

/// gather_functions() with energies where power was recorded.
[[nodiscard]] SampledFunctions gather_functions_with_energy(const Timeline& timeline, FunctionOptions options,
                                                            const std::vector<std::string>& wanted);

}  // namespace kymo::stats
