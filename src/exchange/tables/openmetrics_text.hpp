// OpenMetrics text, version 1.0: names, units, labels and escapes as the format demands them, whatever the names of a
// capture are.
//
//   # TYPE power_watts gauge
//   # UNIT power_watts watts
//   power_watts{rail="GPU"} 12.5 1700000000.25
//   # EOF
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/statistics.hpp>

namespace kymo::exchange {

/// A unit in the form that metric names use: "W" is watts, "B/s" bytes_per_second; empty for no unit and "1".
[[nodiscard]] std::string openmetrics_unit(std::string_view unit);

/// Labels as `key="value",...`, escaped, with names that are valid and different.
[[nodiscard]] std::string openmetrics_labels(const std::vector<std::pair<std::string, std::string>>& labels);

enum class OpenMetricsKind : std::uint8_t { gauge, counter, summary };

/// Collects values by family. A name that another family's lines have already gets a number, so that the text is valid.
class OpenMetricsText {
 public:
  /// `labels` as from openmetrics_labels(); `wall_ns`: the value's time since 1970, if it is known.
  void add(const MetricDeclaration& metric, const std::string& labels, double value,
           std::optional<std::int64_t> wall_ns = {});
  /// A summary in seconds with the quantiles 0, 0.5, 0.95, 0.99 and 1. `base` and `help` are valid as they are.
  void add_durations(const std::string& base, const std::string& help, const std::string& labels,
                     const DurationStatistics& durations);

  /// The text in pieces, by ascending name.
  void take(const std::function<void(std::string_view)>& put) const;

 private:
  struct Family {
    std::string name;
    std::string unit;
    OpenMetricsKind kind = OpenMetricsKind::gauge;
    std::set<std::string> labels;  ///< of its values
    std::string help;
    std::string lines;
  };

  Family& family_of(const std::string& base, const std::string& unit, OpenMetricsKind kind, const std::string& labels);

  std::map<std::string, Family> families_;
  std::set<std::string> taken_;  ///< names of lines
};

}  // namespace kymo::exchange
