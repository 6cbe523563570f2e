// What a capture that has reached its greatest size still takes of the scopes that were recorded before they stopped.
#pragma once

#include <cstdint>
#include <unordered_map>

#include <kymo/events.hpp>

namespace kymo::control {

/// Takes scopes out of batches and counts them as dropped. Those that the batches before have opened are closed as they
/// were, so the capture has no scope without an end. What is recorded apart from scopes stays.
///
/// The count is that of a track of its own: the spool of a killed process knows nothing of it, so those of the threads'
/// tracks have to be the same in both.
class ScopeLimit {
 public:
  /// A track number that no recorder assigns.
  static constexpr TrackId limit_track{0xFFFFFFFD};

  /// The batch without run states and the scopes that it opens. Batches come in their order; the first is that after
  /// the last whole one.
  [[nodiscard]] EventBatch without_scopes(const EventBatch& batch);

 private:
  void strip(ScopeRun& run);
  void state_drops(EventBatch& batch);

  std::unordered_map<TrackId, std::uint16_t> kept_depths_;  // scopes that the capture has open
  std::uint64_t dropped_scopes_ = 0;
  std::uint64_t dropped_others_ = 0;
  std::uint64_t stated_ = 0;  // of both
};

}  // namespace kymo::control
