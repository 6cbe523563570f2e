#include "stats/energy/power_machine.hpp"

#include <algorithm>

#include "capture/merge/id_translation.hpp"

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

}  // namespace kymo::stats
