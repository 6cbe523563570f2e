// Does the runs of a plan that are not done yet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/grid.hpp"
#include "bench_journal.hpp"
#include "bench_plan.hpp"

namespace kymo::command {

/// What became of a grid.
struct GridOutcome {
  std::size_t done_before = 0;  ///< runs
  std::size_t done = 0;
  std::vector<std::string> problems;  ///< of runs that failed
  bool is_interrupted = false;
};

/// Does what the journal does not have, failed runs included, and notes each in it. Makes runs/, logs/ and metrics/ in
/// the output directory. Progress with the time left goes to stderr where that is a terminal.
[[nodiscard]] GridOutcome run_grid(const GridPlan& plan, const std::string& output, Journal& journal);

/// What the journal has of each setting's measured runs.
[[nodiscard]] std::vector<bench::Measurements> collect(const GridPlan& plan, const Journal& journal);

}  // namespace kymo::command
