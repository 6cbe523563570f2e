// The verdicts of `kymo compare` on two captures, found in the background.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <kymo/timeline.hpp>

#include "stats/compare/comparison.hpp"
#include "stats/compare/side_samples.hpp"

namespace kymo::panel {

/// The runs of one side, each of which is read once.
struct SideRuns {
  std::size_t count = 1;
  std::function<Timeline(std::size_t run)> open;
};

struct Judged {
  stats::SideSamples base;
  stats::SideSamples changed;
  stats::Comparison comparison;  ///< its things point into the sides
  /// Facts about the machine or the build that differ: they may be the reason of what differs. Each on one line.
  std::vector<std::string> warnings;

  Judged(std::size_t base_runs, std::size_t new_runs)
      : base(1, 0, stats::kept_of_each(base_runs)), changed(1, 1, stats::kept_of_each(new_runs)) {}
};

/// Reads both sides and compares them as `kymo compare` does. Reading takes about 15 ns a scope. Throws what opening
/// throws and what on_progress(share of the reading) throws, which so ends it early.
[[nodiscard]] std::shared_ptr<const Judged> judge(const SideRuns& base, const SideRuns& changed,
                                                  const std::function<void(double)>& on_progress);

/// "2 worse here, 1 unclear, 9 same here".
[[nodiscard]] std::string verdicts_text(const stats::Comparison& comparison);

}  // namespace kymo::panel
