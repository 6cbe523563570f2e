// Which metrics are which columns of a .vor stream, and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kymo/declarations.hpp>

#include "exchange/vor.hpp"

namespace kymo::exchange {

/// The system column that says how long a frame took, in milliseconds.
inline constexpr std::string_view vor_frame_column = "frame_ms";

/// From one unit to another: value * multiplier / divisor, one of which is 1.
struct UnitChange {
  double multiplier = 1;
  double divisor = 1;

  [[nodiscard]] double operator()(double value) const { return value * multiplier / divisor; }
};

/// How values change from a unit to another of the same kind (B to MB, Hz to MHz); nothing where they are of different
/// kinds or not known.
[[nodiscard]] std::optional<UnitChange> find_unit_change(std::string_view from, std::string_view to);

/// A metric as a column: a system column where its name and unit agree with one that is not taken, else a user column.
struct VorMetric {
  MetricId metric = 0;
  VorColumn column;
  UnitChange change;
  std::size_t system = 0;  ///< the system column; 0: a user column
};

/// The columns of a stream: frame_ms, then the system columns that have a metric, in the order that vor has them.
struct VorColumns {
  std::vector<VorColumn> system;
  std::vector<VorMetric> metrics;  ///< by ascending id of the metric
  std::size_t left_out = 0;        ///< metrics for which there is no id left
};

/// Finds the columns for the metrics of a process. User columns are named like the metric, with its labels behind it in
/// braces, `temperature{zone=cpu}`, and a number where that name is taken.
[[nodiscard]] VorColumns find_vor_columns(const std::vector<MetricDeclaration>& metrics, ProcessId process);

/// The metric of a column: its name, labels taken from behind it, and its unit.
[[nodiscard]] MetricDeclaration make_vor_metric(const VorColumn& column);

}  // namespace kymo::exchange
