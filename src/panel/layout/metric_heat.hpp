// The picture of a family of metrics, such as the loads of all cores: lanes below each other, bright where a value is
// high. Draws nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "panel/layout/metric_layout.hpp"
#include "timeline/metric_families.hpp"

namespace kymo::panel {

/// A stretch of a lane with about one value.
struct HeatCell {
  std::uint32_t lane = 0;
  float left = 0;
  float right = 0;
  float share = 0;  ///< 0: the least visible value of the family, 1: the greatest
  bool is_stale = false;
};

struct MetricHeat {
  std::vector<HeatCell> cells;
  std::size_t lanes = 0;
  bool has_values = false;
  double min = 0;  ///< of the visible values; valid if has_values, as the others
  double max = 0;
  double mean = 0;  ///< of the members' last visible values
};

/// The members of lane `lane` of `lanes`: from the first to before the second.
struct LaneMembers {
  std::size_t first = 0;
  std::size_t end = 0;
};
[[nodiscard]] LaneMembers members_of_lane(std::size_t lane, std::size_t lanes, std::size_t members);

/// A lane has the greatest value of its members. At most `most_lanes` lanes, `width / column` cells each.
[[nodiscard]] MetricHeat lay_out_heat(const std::vector<const MetricSteps*>& members, std::size_t most_lanes,
                                      double width, double column);

/// Rows of families have the id of their first metric with this bit, which no metric's id has.
inline constexpr std::uint32_t family_bit = 0x8000'0000U;
[[nodiscard]] inline std::uint32_t row_of(const timeline::MetricFamily& family) {
  return family_bit | std::min_element(family.members.begin(), family.members.end())->value();
}

/// The step at a pixel; nullptr before the first one.
[[nodiscard]] const MetricStep* step_at(const MetricSteps& steps, double pixel);

}  // namespace kymo::panel
