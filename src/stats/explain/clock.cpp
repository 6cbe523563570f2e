#include "stats/explain/clock.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "stats/common/sample_tests.hpp"
#include "stats/paths/instance_values.hpp"

namespace kymo::stats {

namespace {

constexpr std::size_t least_clocks = 3;
constexpr double most_p_of_clocks = 0.01;
/// Of the usual clock. Clocks vary by less.
constexpr double lower_clock = 0.95;

/// Of the fastest core in each instance; NaN: not known.
std::vector<double> read_clocks(const Timeline& timeline, const LookedAt& looked_at) {
  const std::map<MetricId, MetricValues> values =
      read_instance_values(timeline, looked_at.instances, [](const MetricDeclaration& metric) {
        return metric.name == "cpu_clock" && metric.kind == MetricKind::gauge && metric.unit == "MHz";
      });
  std::vector<double> clocks(looked_at.instances.size(), std::nan(""));
  for (const auto& [metric, of_core] : values) {
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      if (of_core.has(i) && std::isfinite(of_core.mean(i)) && of_core.mean(i) > 0) {
        clocks[i] = std::fmax(clocks[i], of_core.mean(i));
      }
    }
  }
  return clocks;
}

void move_part(double share, CriticalPath& path, OwnerTable& owners) {
  std::int64_t moved_ns = 0;
  for (auto& [id, part] : path.parts) {
    if (owners.owner(id).kind == OwnerKind::computing) {
      const auto part_ns = static_cast<std::int64_t>(share * static_cast<double>(part.duration_ns));
      part.duration_ns -= part_ns;
      moved_ns += part_ns;
    }
  }
  path.parts[owners.owner_of({0, OwnerKind::clock, owners.subject_of("all scopes"), {}})].duration_ns += moved_ns;
}

}  // namespace

void move_clock_parts(const Timeline& timeline, const LookedAt& looked_at, CriticalPaths& paths, OwnerTable& owners) {
  const std::vector<double> clocks = read_clocks(timeline, looked_at);
  const auto [slow, usual] = sides_of(looked_at, clocks);
  if (slow.size() < least_clocks || usual.size() < least_clocks) {
    return;
  }
  const double slow_clock = percentile_of(slow, 50);
  const double usual_clock = percentile_of(usual, 50);
  if (slow_clock > lower_clock * usual_clock || mann_whitney(usual, slow).p_value > most_p_of_clocks) {
    return;
  }
  paths.slow_clock_mhz = slow_clock;
  paths.usual_clock_mhz = usual_clock;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    if (clocks[i] < usual_clock) {
      move_part(1 - clocks[i] / usual_clock, paths.paths[i], owners);
    }
  }
}

}  // namespace kymo::stats
