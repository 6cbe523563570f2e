// A machine with the power that was measured on it, and those that share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "stats/energy_sharing.hpp"
#include "stats/power_curve.hpp"

namespace kymo::stats {

/// The curves of one side of a machine.
struct PowerSideCurves {
  std::vector<const PowerCurve*> curves;

  /// The energy of all of them; unknown for as long as the least known one.
  [[nodiscard]] Energy between(std::int64_t start_ns, std::int64_t end_ns) const;
  /// The longest of them.
  [[nodiscard]] std::int64_t renewal_ns() const;
  /// The least mean power of a second that was readable as a whole; none where there was no such second.
  [[nodiscard]] std::optional<double> least_mean_watts() const;
};

/// What processes of one boot run on.
struct PowerMachine {
  PowerSideCurves machine;
  PowerSideCurves gpu;
  std::optional<double> idle_watts;
  std::unique_ptr<EnergySharing> scopes;
  std::unique_ptr<EnergySharing> spans;
  std::priority_queue<std::pair<std::int64_t, ConsumerId>, std::vector<std::pair<std::int64_t, ConsumerId>>,
                      std::greater<>>
      span_ends;  // of the open queue spans
};

}  // namespace kymo::stats
