// Joins batches of several captures into larger ones, which keep the properties that readers rely on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/events.hpp>

namespace kymo::capture {

/// Joins neighbouring batches up to a limit of events and time. The results look like a recorder's: one run per track,
/// and a run without events for each other track with open scopes.
class BatchJoiner {
 public:
  static constexpr std::size_t most_events = 131072;
  static constexpr std::int64_t most_ns = 1'000'000'000;

  /// Whether the batch can be added to the current one; otherwise call take() first.
  [[nodiscard]] bool fits(const EventBatch& batch) const;
  /// Adds a batch with its declarations and empties it. Its ids and times must be those of the output.
  void add(EventBatch& batch);
  [[nodiscard]] bool empty() const { return is_empty_; }
  /// Completes and returns the joined batch. Valid until the next add(), which begins a new one.
  [[nodiscard]] const EventBatch& take();

 private:
  /// A track after the last run added.
  struct TrackState {
    std::uint64_t end_sequence = 0;
    std::uint64_t dropped_scopes = 0;
    std::uint64_t dropped_others = 0;
    std::vector<OpenScope> open;
  };

  void begin();
  void add_samples(SampleRun& run);
  void add_states(StateRun& run);
  void add_run(ScopeRun& run, std::uint64_t text_offset);

  EventBatch joined_;
  bool is_empty_ = true;                                  // nothing was added since the last take()
  std::size_t weight_ = 0;                                // entries of all kinds
  std::unordered_map<TrackId, std::size_t> run_of_;       // index in joined_.runs
  std::unordered_map<MetricId, std::size_t> samples_of_;  // index of the latest run in joined_.samples
  std::unordered_map<FrameStreamId, std::int64_t> last_marks_ns_;
  std::unordered_map<ThreadId, std::size_t> states_of_;  // index in joined_.states
  std::unordered_map<TrackId, TrackState> tracks_;       // tracks with open scopes and tracks in joined_
};

}  // namespace kymo::capture
