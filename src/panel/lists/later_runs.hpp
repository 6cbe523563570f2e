// Tells which runs of a scan lie behind blocks that it left out.
#pragma once

#include <cstdint>
#include <unordered_map>

#include <kymo/events.hpp>

namespace kymo::panel {

/// The runs of all tracks, in the order of their blocks.
class LaterRuns {
 public:
  /// Takes the next run. Returns whether events of its track were skipped since they are later than the scan's range,
  /// so that it says nothing of what was open in the range. `has_skipped_later`: as in BlockScan.
  [[nodiscard]] bool holds(const ScopeRun& run, bool has_skipped_later) {
    const auto [place, is_new] = tracks_.try_emplace(run.track);
    Track& track = place->second;
    track.is_over = track.is_over || (has_skipped_later && !is_new && run.first_sequence != track.next_sequence);
    track.next_sequence = run.end_sequence;
    return track.is_over;
  }

 private:
  struct Track {
    std::uint64_t next_sequence = 0;
    bool is_over = false;
  };

  std::unordered_map<TrackId, Track> tracks_;
};

}  // namespace kymo::panel
