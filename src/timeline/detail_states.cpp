// Threads' run states of a block.
#include <algorithm>
#include <utility>

#include "base/time_math.hpp"
#include "timeline/detail_parts.hpp"

namespace kymo::timeline {

namespace {

/// Times of damaged captures may descend or overlap; binary searches rely on their order.
void make_disjoint(std::vector<ThreadState>& states) {
  std::stable_sort(states.begin(), states.end(),
                   [](const ThreadState& a, const ThreadState& b) { return a.start_ns < b.start_ns; });
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].duration_ns = std::max<std::int64_t>(states[i].duration_ns, 0);
    const std::int64_t end_ns = base::add_length(states[i].start_ns, states[i].duration_ns);
    const std::int64_t most_ns = i + 1 < states.size() ? states[i + 1].start_ns : end_ns;
    states[i].duration_ns = subtract_times(std::min(end_ns, most_ns), states[i].start_ns);
  }
}

}  // namespace

void take_states(const EventBatch& batch, bool with_states, Detail& out) {
  if (batch.states.empty() && batch.wakes.empty()) {
    return;
  }
  capture::Coverage coverage;
  for (const StateRun& run : batch.states) {
    coverage.add(run);
  }
  if (with_states) {
    out.wakes = batch.wakes;
    std::stable_sort(out.wakes.begin(), out.wakes.end(),
                     [](const ThreadWake& a, const ThreadWake& b) { return a.time_ns < b.time_ns; });
    out.states = batch.states;
    std::stable_sort(out.states.begin(), out.states.end(),
                     [](const StateRun& a, const StateRun& b) { return a.thread < b.thread; });
    for (StateRun& run : out.states) {
      make_disjoint(run.states);
    }
  }
  put_rows(coverage, out.state_bins);
  sort_rows(out.state_bins);
}

}  // namespace kymo::timeline
