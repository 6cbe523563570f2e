// Batches of several captures joined into larger ones that keep what readers rely on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// Joins neighbouring batches into one, up to a bound in events and time. What comes out is as a recorder writes it:
/// one run a track, and a run without events for each track with open scopes that has none.
class BatchJoiner {
 public:
  static constexpr std::size_t most_events = 131072;
  static constexpr std::int64_t most_ns = 1'000'000'000;

  /// Whether the batch can be added to what is being joined; else take() comes first.
  [[nodiscard]] bool fits(const EventBatch& batch) const;
  /// Adds a batch, whose ids and times are those of the output, with its declarations. Empties it.
  void add(EventBatch& batch);
  [[nodiscard]] bool empty() const { return is_empty_; }
  /// The joined batch, complete; what comes next is a new one. Valid until the next add().
  [[nodiscard]] const EventBatch& take();

 private:
  /// A track as of the last run added.
  struct TrackState {
    std::uint64_t end_sequence = 0;
    std::uint64_t dropped_scopes = 0;
    std::uint64_t dropped_others = 0;
    std::vector<OpenScope> open;
  };

  void begin();
  void add_samples(SampleRun& run);
  void add_run(ScopeRun& run, std::uint64_t text_offset);
  static void follow(const ScopeRun& run, TrackState& track);

  EventBatch joined_;
  bool is_empty_ = true;
  bool is_taken_ = false;
  std::size_t weight_ = 0;                                // entries of all kinds
  std::unordered_map<TrackId, std::size_t> run_of_;       // place in joined_.runs
  std::unordered_map<MetricId, std::size_t> samples_of_;  // place of the latest run in joined_.samples
  std::unordered_map<TrackId, TrackState> tracks_;        // those with open scopes, and those in joined_
};

}  // namespace kymo::capture
