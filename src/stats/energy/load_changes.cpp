#include "stats/energy/load_changes.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace kymo::stats {
namespace {

// Some blocks of states, which ThreadStates keeps decoded.
constexpr std::int64_t window_length_ns = 200'000'000;

Weight weight_in(RunState state) {
  const std::int32_t weight = state == RunState::running ? ThreadLoads::unknown.most : 1;
  return {weight, weight, weight};
}

bool are_equal(const Weight& a, const Weight& b) {
  return a.likely == b.likely && a.least == b.least && a.most == b.most;
}

}  // namespace

void append_steps(TrackId track, std::span<const ThreadState> states, TimeRange range, std::vector<LoadStep>& steps) {
  std::optional<std::int64_t> known_until_ns;
  for (const ThreadState& state : states) {
    const std::int64_t start_ns = std::max(state.start_ns, range.start_ns);
    if (state.end_ns() <= range.start_ns || start_ns >= range.end_ns) {
      continue;
    }
    if (known_until_ns && *known_until_ns < start_ns) {
      steps.push_back({*known_until_ns, track, std::nullopt, false});
    }
    steps.push_back({start_ns, track, weight_in(state.state), false});
    known_until_ns = state.end_ns();
  }
  if (known_until_ns && *known_until_ns < range.end_ns) {
    steps.push_back({*known_until_ns, track, std::nullopt, false});
  }
}

bool JoinedLoads::is_by_state(TrackId track) const {
  const auto found = loads_.find(track);
  return found != loads_.end() && found->second.exact;
}

void JoinedLoads::join(std::vector<LoadStep> steps, std::vector<LoadChange>& changes) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const LoadStep& a, const LoadStep& b) { return a.time_ns < b.time_ns; });
  for (const LoadStep& step : steps) {
    Loads& loads = loads_[step.track];
    const Weight before = loads.exact.value_or(loads.sampled);
    if (step.is_sample) {
      loads.sampled = step.load.value_or(ThreadLoads::unknown);
    } else {
      loads.exact = step.load;
    }
    const Weight after = loads.exact.value_or(loads.sampled);
    if (!are_equal(before, after)) {
      changes.push_back({step.time_ns, step.track, after});
    }
  }
}

LoadChanges::LoadChanges(const Timeline& timeline, std::vector<LoadChange> sampled, bool reads_states)
    : sampled_(std::move(sampled)), window_ns_(timeline.range().start_ns), end_ns_(timeline.range().end_ns) {
  if (!reads_states || states_.emplace(timeline).empty()) {
    return;
  }
  for (const TrackDeclaration& track : timeline.tracks()) {
    if (!states_->threads_of(track.id).empty()) {
      tracks_.push_back(track.id);
    }
  }
}

/// The changes of the next window. Without states the samples are one.
void LoadChanges::read_window() {
  const bool is_last = tracks_.empty() || end_ns_ - window_ns_ <= window_length_ns;
  const std::int64_t until_ns = is_last ? std::numeric_limits<std::int64_t>::max() : window_ns_ + window_length_ns;
  const TimeRange window{window_ns_, until_ns};
  std::vector<LoadStep> steps;
  for (const TrackId track : tracks_) {
    if (loads_.is_by_state(track)) {
      // Unless a state goes on.
      steps.push_back({window_ns_, track, std::nullopt, false});
    }
    for (const ThreadId thread : states_->threads_of(track)) {
      append_steps(track, states_->states(thread, window), window, steps);
    }
  }
  for (; next_sampled_ < sampled_.size() && sampled_[next_sampled_].time_ns < until_ns; ++next_sampled_) {
    const LoadChange& sampled = sampled_[next_sampled_];
    steps.push_back({sampled.time_ns, sampled.track, sampled.load, true});
  }
  changes_.clear();
  next_ = 0;
  loads_.join(std::move(steps), changes_);
  window_ns_ = until_ns;
}

const LoadChange* LoadChanges::take(std::int64_t until_ns) {
  while (next_ == changes_.size() && window_ns_ <= until_ns && window_ns_ != std::numeric_limits<std::int64_t>::max()) {
    read_window();
  }
  return next_ < changes_.size() && changes_[next_].time_ns <= until_ns ? &changes_[next_++] : nullptr;
}

}  // namespace kymo::stats
