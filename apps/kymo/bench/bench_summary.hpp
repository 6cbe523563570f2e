// Summarises a grid: the results table, figures and verdicts.
#pragma once

#include <string>
#include <vector>

#include "apps/kymo/bench/bench_plan.hpp"
#include "bench/grid.hpp"

namespace kymo::command {

/// The verdict of one criterion on one setting.
struct SettingVerdict {
  std::size_t criterion = 0;
  std::size_t setting = 0;
  bench::Verdict verdict;
};

struct GridSummary {
  std::vector<SettingVerdict> verdicts;
  std::vector<std::string> files;  ///< files written
  bool is_met = true;              ///< all settings meet all criteria
};

/// Writes results.csv, the plan's own table, summary.md, summary.json and figs/ into the output directory.
[[nodiscard]] GridSummary write_summary(const GridPlan& plan, const std::vector<bench::Measurements>& measurements,
                                        const std::string& output);

}  // namespace kymo::command
