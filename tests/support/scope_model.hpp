// Random scopes on some tracks with their true properties: the oracle for all code that turns events into spans. It
// records every scope with its parent and computes everything in the simplest way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::test {

/// A scope of the model. Times in ns.
struct ModelScope {
  TrackId track;
  SiteId site;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint16_t depth = 0;
  bool is_open = true;
  bool is_unbalanced = false;
  std::size_t batch_ended = 0;    ///< the batch with its close
  std::size_t parent = SIZE_MAX;  ///< index in scopes()
};

/// Parameters of the random scopes.
struct ModelShape {
  std::size_t tracks = 3;
  std::size_t sites = 12;
  std::size_t deepest = 8;
  std::size_t unbalanced_percent = 5;  ///< share of the closes
  double median_step_ns = 300;
};

/// Creates batches of random scopes, reproducible by seed.
class ScopeModel {
 public:
  explicit ScopeModel(std::uint64_t seed, ModelShape shape = {}) : shape_(shape), random_(seed), stacks_(shape.tracks) {
    times_ns_.assign(shape.tracks, 1'000'000);
    sequences_.assign(shape.tracks, 0);
  }

  /// The next batch, with about that many events per track. Like with a collector that drains one track after another,
  /// a track may begin before the end of the previous batch, but not before the end of the one before that.
  EventBatch next(std::size_t events_a_track) {
    EventBatch batch;
    for (std::int64_t& time_ns : times_ns_) {
      time_ns = std::max(time_ns, batch_before_end_ns_);
    }
    batch.start_ns = *std::min_element(times_ns_.begin(), times_ns_.end());
    for (std::size_t i = 0; i < shape_.tracks; ++i) {
      batch.runs.push_back(next_run(i, events_a_track));
    }
    batch_before_end_ns_ = last_batch_end_ns_;
    last_batch_end_ns_ = *std::max_element(times_ns_.begin(), times_ns_.end());
    batch.end_ns = last_batch_end_ns_;
    ++batches_;
    return batch;
  }

  [[nodiscard]] const std::vector<ModelScope>& scopes() const { return scopes_; }

  /// The duration minus the durations of the scopes with this parent.
  [[nodiscard]] std::vector<std::int64_t> self_times_ns() const {
    std::vector<std::int64_t> self(scopes_.size());
    for (std::size_t i = 0; i < scopes_.size(); ++i) {
      self[i] += scopes_[i].end_ns - scopes_[i].start_ns;
      if (scopes_[i].parent != SIZE_MAX) {
        self[scopes_[i].parent] -= scopes_[i].end_ns - scopes_[i].start_ns;
      }
    }
    return self;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::int64_t step_ns() {
    // Occasionally creates two events at the same time, or a long pause.
    const std::uint64_t kind = below(100);
    if (kind < 5) {
      return 0;
    }
    std::exponential_distribution<double> step(1.0 / shape_.median_step_ns);
    return static_cast<std::int64_t>(step(random_) * (kind == 99 ? 1000 : 1));
  }

  ScopeRun next_run(std::size_t i, std::size_t events) {
    ScopeRun run;
    run.track = TrackId::from_index(i);
    run.first_sequence = sequences_[i];
    for (const std::size_t open : stacks_[i]) {
      run.open_at_start.push_back({scopes_[open].start_ns, scopes_[open].site});
    }
    while (run.events.size() < events) {
      times_ns_[i] += step_ns();
      auto& stack = stacks_[i];
      const bool opens = stack.empty() || (stack.size() < shape_.deepest && below(2) == 0);
      opens ? open(i, run) : close(i, run);
    }
    sequences_[i] += run.events.size();
    run.end_sequence = sequences_[i];
    return run;
  }

  void open(std::size_t i, ScopeRun& run) {
    auto& stack = stacks_[i];
    ModelScope scope;
    scope.track = run.track;
    scope.site = SiteId{static_cast<std::uint32_t>(1 + below(shape_.sites))};
    scope.start_ns = times_ns_[i];
    scope.depth = static_cast<std::uint16_t>(stack.size());
    scope.parent = stack.empty() ? SIZE_MAX : stack.back();
    run.events.push_back({scope.start_ns, scope.site, scope.depth, 0});
    stack.push_back(scopes_.size());
    scopes_.push_back(scope);
  }

  void close(std::size_t i, ScopeRun& run) {
    auto& stack = stacks_[i];
    const bool skips = below(100) < shape_.unbalanced_percent;
    const std::size_t depth = skips ? below(stack.size()) : stack.size() - 1;
    const bool forced = skips && below(4) == 0;
    while (stack.size() > depth) {
      ModelScope& scope = scopes_[stack.back()];
      scope.end_ns = times_ns_[i];
      scope.is_open = false;
      scope.is_unbalanced = forced || stack.size() > depth + 1;
      scope.batch_ended = batches_;
      stack.pop_back();
    }
    run.events.push_back(
        {times_ns_[i], {}, static_cast<std::uint16_t>(depth), forced ? ScopeEvent::forced : std::uint16_t{0}});
  }

  ModelShape shape_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::size_t>> stacks_;
  std::vector<std::int64_t> times_ns_;
  std::vector<std::uint64_t> sequences_;
  std::vector<ModelScope> scopes_;
  std::size_t batches_ = 0;
  std::int64_t last_batch_end_ns_ = 0;
  std::int64_t batch_before_end_ns_ = 0;
};

}  // namespace kymo::test
