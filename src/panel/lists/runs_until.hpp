// The runs of a scan up to the end of its range.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include <kymo/events.hpp>

#include "panel/data/block_provider.hpp"
#include "panel/data/panel_data.hpp"
#include "panel/data/time_math.hpp"

namespace kymo::panel {

/// The time that scopes without a known end reach at least: the end of a range that is not everything, else that of the
/// data.
/// The blocks of the range may all end before it.
[[nodiscard]] inline std::int64_t least_end_ns(TimeRange range, const BlockProvider& provider) {
  return is_everything(range) ? std::numeric_limits<std::int64_t>::min()
                              : std::min(range.end_ns, provider.range().end_ns);
}

/// Follows all tracks through the blocks of a scan, in order.
class RunsUntil {
 public:
  /// Calls on_run(const ScopeRun&) for the runs of a batch. Leaves out those of tracks that were followed beyond the
  /// range's end in blocks that the scan skipped: they say nothing of what was open in the range. Where skipped blocks
  /// before the range ended all scopes of a track, there is a run without any.
  template <typename OnRun>
  void take(const EventBatch& batch, const ScannedBlock& block, const OnRun& on_run) {
    ++batch_;
    for (const ScopeRun& run : batch.runs) {
      const auto [place, is_new] = tracks_.try_emplace(run.track);
      Track& track = place->second;
      track.is_over = track.is_over || (block.skipped == timeline::SkippedBlocks::after && track.is_known &&
                                        run.first_sequence != track.next_sequence);
      track = {block.capture, run.end_sequence, batch_, true, leaves_open(run), track.is_over};
      if (!track.is_over) {
        on_run(run);
      }
    }
    if (block.skipped != timeline::SkippedBlocks::none) {
      end_unnamed(block, on_run);
    }
  }

 private:
  struct Track {
    std::size_t capture = 0;
    std::uint64_t next_sequence = 0;
    std::uint64_t batch = 0;  // that named it last
    bool is_known = false;    // next_sequence is
    bool has_open = false;
    bool is_over = false;
  };

  [[nodiscard]] static bool leaves_open(const ScopeRun& run) {
    return run.events.empty() ? !run.open_at_start.empty()
                              : run.events.back().is_open() || run.events.back().depth != 0;
  }

  template <typename OnRun>
  void end_unnamed(const ScannedBlock& block, const OnRun& on_run) {
    for (auto& [id, track] : tracks_) {
      if (track.capture != block.capture || track.batch == batch_ || track.is_over) {
        continue;
      }
      if (block.skipped == timeline::SkippedBlocks::after) {
        track.is_over = track.has_open;
        continue;
      }
      track.is_known = false;
      if (std::exchange(track.has_open, false)) {
        ScopeRun none;
        none.track = id;
        on_run(none);
      }
    }
  }

  std::unordered_map<TrackId, Track> tracks_;
  std::uint64_t batch_ = 0;
};

}  // namespace kymo::panel
