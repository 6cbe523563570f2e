// Maps metrics to columns of a .vor stream and back.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <kymo/declarations.hpp>

#include "exchange/vor/format.hpp"

namespace kymo::exchange {

/// The system column with the duration of a frame in milliseconds.
inline constexpr std::string_view vor_frame_column = "frame_ms";

/// Converts a unit: value * multiplier / divisor. One of them is 1.
struct UnitChange {
  double multiplier = 1;
  double divisor = 1;

  [[nodiscard]] double operator()(double value) const { return value * multiplier / divisor; }
};

/// The conversion between two units of the same kind (B to MB, Hz to MHz). None if the kinds differ or are unknown.
[[nodiscard]] std::optional<UnitChange> find_unit_change(std::string_view from, std::string_view to);

/// A metric as a column: a system column if its name and unit match a free one, else a user column.
struct VorMetric {
  MetricId metric;
  VorColumn column;
  UnitChange change;
  std::size_t system = 0;  ///< the system column; 0: a user column
};

/// The columns of a stream: frame_ms, then the system columns with a metric, in vor's order.
struct VorColumns {
  std::vector<VorColumn> system;
  std::vector<VorMetric> metrics;  ///< by ascending metric id
  std::size_t left_out = 0;        ///< number of metrics for which no id was left
};

/// Finds the columns for a process's metrics. A user column is named like the metric with its labels in braces,
/// `temperature{zone=cpu}`, and gets a number if the name is taken, also by a system column. The recorder's metric
/// frame_ms has no column of its own.
[[nodiscard]] VorColumns find_vor_columns(const std::vector<MetricDeclaration>& metrics, ProcessId process);

/// The metric of a column: the name without the labels that follow it, the labels, and the unit.
[[nodiscard]] MetricDeclaration make_vor_metric(const VorColumn& column);

}  // namespace kymo::exchange
