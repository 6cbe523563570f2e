// The positions of metric steps. Draws nothing.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "panel/data/panel_data.hpp"
#include "panel/layout/time_axis.hpp"

namespace kymo::panel {

/// The range of a metric over a few pixels. `min` > `max`: no numeric value.
struct MetricStep {
  float left = 0;
  float right = 0;           ///< where its value ends: at the next step, or earlier if it does not hold that long
  std::int64_t last_ns = 0;  ///< time of the last sample
  double min = 0;
  double max = 0;
  double last = 0;
  bool is_stale = false;
};

struct MetricSteps {
  MetricId metric;
  std::vector<MetricStep> steps;  ///< by ascending left end
  bool has_values = false;
  bool is_rate = false;  ///< a running total's growth per second; of joules: watts
  double min = 0;        ///< of the visible values; valid if has_values
  double max = 0;
  double latest = 0;  ///< the last visible numeric value
};

/// How long the values of metrics hold. A program's own value holds until its next one. A sensor is sampled at a rate:
/// its value holds for a few of the shortest intervals seen, and what follows is a gap.
class MetricHolds {
 public:
  /// Learns intervals from samples.
  void learn(const std::vector<Piece>& pieces);
  /// The time for which a value holds at most.
  [[nodiscard]] std::int64_t hold_ns(const MetricDeclaration& metric) const;

 private:
  std::unordered_map<MetricId, std::int64_t> intervals_;
};

/// The samples of all metrics with a value in the axis's range. The program's own metrics come first, then frame times,
/// CPU, GPU, power and the rest, each by ascending id. At most width / least_pixels steps each. Running totals become
/// rates, each over at least the time in which the source renews its value; where a total fell, it restarted, and there
/// is a gap. `past`: the samples before the range, the latest first.
[[nodiscard]] std::vector<MetricSteps> lay_out_metrics(const std::vector<Piece>& pieces, const std::vector<Piece>& past,
                                                       const MetricHolds& holds, const Declarations& declarations,
                                                       const TimeAxis& axis, double least_pixels);

/// A metric's name and labels, safe to show on one line.
[[nodiscard]] std::string metric_title(const MetricDeclaration& metric);

/// The unit of the values: that of the metric, or of its rate.
[[nodiscard]] std::string unit_of(const MetricDeclaration& metric, const MetricSteps& steps);

/// Whether a machine's metric has one value throughout. The program's own metrics are never among these.
[[nodiscard]] bool is_constant(const MetricDeclaration* metric, const MetricSteps& steps);

/// Where a value lies between two others, from 0 to 1; they may be further apart than a double can tell.
[[nodiscard]] double share_between(double low, double high, double value);

/// The declaration of a metric; nullptr if there is none.
[[nodiscard]] const MetricDeclaration* find_metric(const Declarations& declarations, MetricId id);

}  // namespace kymo::panel
