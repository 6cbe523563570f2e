// A machine with its measured power and the work that shares it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "stats/common/power_curve.hpp"
#include "stats/energy/energy_sharing.hpp"

namespace kymo::stats {

/// The curves of one side of a machine.
struct PowerSideCurves {
  std::vector<const PowerCurve*> curves;

  /// The energy of all of them; unknown_s is that of the least known one, and the whole time if there are none.
  [[nodiscard]] Energy between(std::int64_t start_ns, std::int64_t end_ns) const;
  /// The longest of them.
  [[nodiscard]] std::int64_t renewal_ns() const;
  /// The length of their shortest readable piece; 0: there is none.
  [[nodiscard]] std::int64_t shortest_piece_ns() const;
  /// Removes sources that showed no energy at all, such as a counter that never moves, if others did: they say nothing
  /// about the machine and would make all of it unknown.
  void leave_out_silent();
  /// The lowest mean power of a completely readable second; none if there was no such second.
  [[nodiscard]] std::optional<double> least_mean_watts() const;
};

/// The machine of the processes of one boot.
struct PowerMachine {
  PowerSideCurves machine;
  PowerSideCurves gpu;
  std::optional<double> idle_watts;
  std::unique_ptr<EnergySharing> scopes;
  std::unique_ptr<EnergySharing> spans;
  std::priority_queue<std::pair<std::int64_t, ConsumerId>, std::vector<std::pair<std::int64_t, ConsumerId>>,
                      std::greater<>>
      span_ends;  // ends of the open queue spans
};

}  // namespace kymo::stats
