// What a capture that has reached its greatest size still takes of the scopes that were recorded before they stopped.
#pragma once

#include <cstdint>
#include <unordered_map>

#include <kymo/events.hpp>

namespace kymo::control {

/// Takes scopes out of batches and counts them as dropped. Those that the batches before have opened are closed as they
/// were, so the capture has no scope without an end. What is recorded apart from scopes stays.
class ScopeLimit {
 public:
  /// The batch without run states and the scopes that it opens. Batches come in their order; the first is that after
  /// the last whole one.
  [[nodiscard]] EventBatch without_scopes(const EventBatch& batch);

 private:
  struct Track {
    std::uint16_t kept_depth = 0;  ///< scopes that the capture has open
    std::uint64_t dropped_scopes = 0;
    std::uint64_t dropped_others = 0;
  };

  void strip(ScopeRun& run);

  std::unordered_map<TrackId, Track> tracks_;
};

}  // namespace kymo::control
