// Batches for which a capture's file had no room: what is lost with them, and what later blocks say of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

namespace kymo::capture {

/// A track number that no recorder assigns: its drops are the events for which the file had no room.
inline constexpr TrackId unwritten_track{0xFFFFFFFE};

/// Counts the events of a batch as drops.
[[nodiscard]] TrackTotals count_events(const EventBatch& batch);
/// Adds the drops of the track unwritten_track to a batch.
void state_unwritten(const TrackTotals& unwritten, EventBatch& batch);

/// A track in such batches.
struct UnwrittenTrack {
  std::size_t kept_depth = 0;  ///< how many scopes of the file are still open
  std::uint64_t end_sequence = 0;
};
using UnwrittenTracks = std::unordered_map<TrackId, UnwrittenTrack>;

/// Opens the scopes in a batch that began in those that were not written and still last: the file has them whole.
/// Returns how many.
[[nodiscard]] std::uint64_t reopen(const UnwrittenTracks& tracks, EventBatch& batch);
/// Names every such track in the batch that states the loss: recovery takes none of it from the spool.
void name_unwritten(const UnwrittenTracks& tracks, EventBatch& batch);

}  // namespace kymo::capture
