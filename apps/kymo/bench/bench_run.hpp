// Does the remaining runs of a plan.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "apps/kymo/bench/bench_journal.hpp"
#include "apps/kymo/bench/bench_plan.hpp"
#include "bench/grid.hpp"

namespace kymo::command {

/// The result of a grid.
struct GridOutcome {
  std::size_t done_before = 0;  ///< number of runs
  std::size_t done = 0;
  std::vector<std::string> problems;  ///< of failed runs
  bool is_interrupted = false;
};

/// Does the runs that are not in the journal or failed, and records each one. Creates runs/, logs/ and metrics/ in the
/// output directory. Shows progress and the time left on stderr if that is a terminal.
[[nodiscard]] GridOutcome run_grid(const GridPlan& plan, const std::string& output, Journal& journal);

/// The journal's measured runs of each setting.
[[nodiscard]] std::vector<bench::Measurements> collect(const GridPlan& plan, const Journal& journal);

}  // namespace kymo::command
