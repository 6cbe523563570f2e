#include "panel/layout/metric_heat.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kymo::panel {

namespace {

/// Values that differ by less look the same, and share a cell.
constexpr double levels = 24;

struct Column {
  double most = -std::numeric_limits<double>::infinity();
  bool is_stale = true;
};

void put_steps(const MetricSteps& member, double column, std::vector<Column>& columns) {
  const auto column_of = [&](double pixel) {
    return static_cast<std::size_t>(std::clamp(pixel / column, 0.0, static_cast<double>(columns.size())));
  };
  for (const MetricStep& step : member.steps) {
    if (!(step.min <= step.max) || !std::isfinite(step.max)) {
      continue;
    }
    const std::size_t first = column_of(double{step.left});
    const std::size_t end = std::max(column_of(std::ceil(double{step.right})), first + 1);
    for (std::size_t i = first; i < std::min(end, columns.size()); ++i) {
      columns[i].is_stale = columns[i].is_stale && step.is_stale;
      columns[i].most = std::max(columns[i].most, step.max);
    }
  }
}

void put_cells(const std::vector<Column>& columns, double column, std::uint32_t lane, MetricHeat& heat) {
  bool is_open = false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!std::isfinite(columns[i].most)) {
      is_open = false;
      continue;
    }
    const double share = heat.min < heat.max ? share_between(heat.min, heat.max, columns[i].most) : 0.5;
    const HeatCell cell{lane, static_cast<float>(static_cast<double>(i) * column),
                        static_cast<float>(static_cast<double>(i + 1) * column),
                        static_cast<float>(std::round(share * levels) / levels), columns[i].is_stale};
    if (is_open && heat.cells.back().share == cell.share && heat.cells.back().is_stale == cell.is_stale) {
      heat.cells.back().right = cell.right;
    } else {
      heat.cells.push_back(cell);
    }
    is_open = true;
  }
}

}  // namespace

LaneMembers members_of_lane(std::size_t lane, std::size_t lanes, std::size_t members) {
  return {lane * members / lanes, (lane + 1) * members / lanes};
}

MetricHeat lay_out_heat(const std::vector<const MetricSteps*>& members, std::size_t most_lanes, double width,
                        double column) {
  MetricHeat heat;
  heat.lanes = std::max<std::size_t>(std::min(members.size(), most_lanes), 1);
  double sum = 0;
  std::size_t with_values = 0;
  for (const MetricSteps* const member : members) {
    if (member->has_values) {
      heat.min = heat.has_values ? std::min(heat.min, member->min) : member->min;
      heat.max = heat.has_values ? std::max(heat.max, member->max) : member->max;
      heat.has_values = true;
      sum += member->latest;
      ++with_values;
    }
  }
  heat.mean = heat.has_values ? sum / static_cast<double>(with_values) : 0;
  if (!heat.has_values || !(width >= column)) {
    return heat;
  }
  std::vector<Column> columns;
  for (std::size_t lane = 0; lane < heat.lanes; ++lane) {
    columns.assign(static_cast<std::size_t>(std::ceil(width / column)), Column());
    const LaneMembers inside = members_of_lane(lane, heat.lanes, members.size());
    for (std::size_t i = inside.first; i < inside.end; ++i) {
      put_steps(*members[i], column, columns);
    }
    put_cells(columns, column, static_cast<std::uint32_t>(lane), heat);
  }
  return heat;
}

const MetricStep* step_at(const MetricSteps& steps, double pixel) {
  const auto after = std::upper_bound(steps.steps.begin(), steps.steps.end(), pixel,
                                      [](double x, const MetricStep& step) { return x < double{step.left}; });
  return after == steps.steps.begin() ? nullptr : &*(after - 1);
}

}  // namespace kymo::panel
