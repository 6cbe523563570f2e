// The latest values of a timeline's metrics as OpenMetrics text, version 1.0.
//
//   # TYPE power_watts gauge
//   # UNIT power_watts watts
//   power_watts{rail="GPU"} 12.5 1700000000.25
//   # EOF
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <kymo/timeline.hpp>

#include "exchange/output_file.hpp"

namespace kymo::exchange {

/// The name of a unit as part of a metric's name: "W" is watts, "B/s" bytes_per_second; empty for none and "1".
[[nodiscard]] std::string openmetrics_unit(std::string_view unit);

/// Writes all metrics that have a value and closes the file. A pass over all samples; `on_progress`, where there is
/// one, is told the share that is done.
void write_openmetrics(const Timeline& timeline, OutputFile& file, const std::function<void(double)>& on_progress = {});

}  // namespace kymo::exchange
