// Metrics that a machine has once for each of its cores, GPUs or the like. Views fold them into one row: on a machine
// of many cores they would hide everything else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/export.hpp>

namespace kymo::timeline {

struct MetricFamily {
  std::string name;               ///< of its metrics: "cpu_util"
  std::string label;              ///< what tells them apart: "core"
  std::vector<MetricId> members;  ///< by ascending number
};

/// Fewer metrics stay rows of their own.
inline constexpr std::size_t least_family = 4;

/// Metrics of one process, name and unit whose first label is a whole number, in the order of their first declaration.
/// The program's own metrics have no families.
[[nodiscard]] KYMO_API std::vector<MetricFamily> metric_families(const std::vector<MetricDeclaration>& metrics);

/// "cpu_util, 64 cores".
[[nodiscard]] KYMO_API std::string title_of(const MetricFamily& family);

}  // namespace kymo::timeline
