// The latest values of a timeline's metrics as OpenMetrics text, version 1.0.
//
//   # TYPE power_watts gauge
//   # UNIT power_watts watts
//   power_watts{rail="GPU"} 12.5 1700000000.25
//   # EOF
#pragma once

#include <string>
#include <string_view>

#include <kymo/timeline.hpp>

#include "exchange/common/exporter.hpp"

namespace kymo::exchange {

/// A unit in the form that metric names use: "W" is watts, "B/s" bytes_per_second; empty for no unit and "1".
[[nodiscard]] std::string openmetrics_unit(std::string_view unit);

/// Writes all metrics that have a value. A pass over all samples.
ExportWriter write_openmetrics;

}  // namespace kymo::exchange
