// CPU cost of GPU scopes beyond the API's own calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <vector>

#include <benchmark/benchmark.h>

#include "recording.hpp"
#include "timing.hpp"

namespace kymo::benchmarks {

/// Scopes per frame, and frames per measurement.
inline constexpr std::size_t scopes_a_frame = 50;
inline constexpr std::size_t frames = 120;

/// Alternates frames with an API's bare calls and with GPU scopes, and reports the difference. `Side` has issue(count),
/// which submits so many pairs of time stamps; finish(), which waits for the GPU and is not measured; and fetch(),
/// which reads the results. Each frame's result is the CPU time of this thread; the median frame counts.
template <typename Bare, typename Scopes>
void compare_sides(benchmark::State& state, Bare& bare, Scopes& scopes) {
  const auto cost_of_frame = [](auto& side) {
    Cost cost;
    measure(cost, scopes_a_frame, [&](std::size_t count) { side.issue(count); });
    side.finish();
    measure(cost, 0, [&](std::size_t) { side.fetch(); });
    return cost.cpu_each_ns();
  };
  std::vector<double> bare_ns;
  std::vector<double> scope_ns;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    bare_ns.push_back(cost_of_frame(bare));
    scope_ns.push_back(cost_of_frame(scopes));
  }
  const auto median = [](std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  };
  const double calls = median(bare_ns);
  const double all = median(scope_ns);
  state.counters["calls_ns"] = calls;
  state.counters["scope_ns"] = all;
  state.counters["extra_ns"] = all - calls;
}

}  // namespace kymo::benchmarks
