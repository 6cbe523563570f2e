// What a grid run came to: the results table, figures and verdicts.
#pragma once

#include <string>
#include <vector>

#include "bench/grid.hpp"
#include "bench_plan.hpp"

namespace kymo::command {

/// One criterion held against one setting.
struct SettingVerdict {
  std::size_t criterion = 0;
  std::size_t setting = 0;
  bench::Verdict verdict;
};

struct GridSummary {
  std::vector<SettingVerdict> verdicts;
  std::vector<std::string> files;  ///< written
  std::string note;                ///< why there are no PNG figures; empty where there are
  bool is_met = true;              ///< every criterion by every setting
};

/// Writes results.csv, the plan's own table, summary.md, summary.json and figs/ into the output directory.
[[nodiscard]] GridSummary write_summary(const GridPlan& plan, const std::vector<bench::Measurements>& measurements,
                                        const std::string& output);

}  // namespace kymo::command
