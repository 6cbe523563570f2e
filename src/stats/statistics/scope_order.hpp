// The scope events of all tracks of a timeline in chronological order, in bounded memory.
//
// Blocks of a capture overlap in time, since tracks are drained one after the other. The first pass notes the first
// scope event of each block. The second pass emits an event once no later block can contain an earlier one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "capture/summary/scope_walk.hpp"

namespace kymo::stats {

/// The open of a scope, or the end of the innermost one of its track.
struct OrderedScopeEvent {
  std::int64_t time_ns = 0;
  std::int64_t start_ns = 0;  ///< of an open: its start, if that precedes all readable events
  std::uint32_t track = 0;    ///< counts from 0, in order of the tracks' first appearance
  SiteId site;                ///< 0: an end
};

/// A span on a queue track.
struct QueueSpan {
  TrackId track;
  NameId name;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

/// Output of the passes over a timeline.
struct ScopeOrderVisitor {
  /// Every batch of the first pass.
  std::function<void(const EventBatch&)> on_batch;
  /// Second pass: events of a track in their order; times ascend over all tracks.
  std::function<void(const OrderedScopeEvent&)> on_scope;
  /// Second pass: by ascending start.
  std::function<void(const QueueSpan&)> on_span;
  std::function<void(double)> on_progress;
};

/// All scope events of a timeline by time. Scopes that never ended get no end.
class ScopeOrder {
 public:
  explicit ScopeOrder(const Timeline& timeline) : timeline_(timeline) {}

  void run(const ScopeOrderVisitor& visitor);

  /// The track of an event's track number.
  [[nodiscard]] TrackId track_of(std::uint32_t number) const { return tracks_[number].id; }

 private:
  struct Block {
    std::size_t number = 0;
    std::int64_t first_scope_ns = 0;  // no scope event of this or a later block of the capture is earlier
    std::int64_t first_span_ns = 0;   // the same for queue spans
  };
  struct Track {
    TrackId id;
    std::int64_t last_ns = 0;
    capture::ScopeWalk walk;
  };

  class Visitor;

  void survey(const ScopeOrderVisitor& visitor);
  [[nodiscard]] std::uint32_t number_of(TrackId track);
  void take_run(const ScopeRun& run);
  void put(Track& track, std::uint32_t number, std::int64_t time_ns, std::int64_t start_ns, SiteId site);
  void merge_pending(std::vector<std::size_t> borders);
  void hand_out(const ScopeOrderVisitor& visitor, std::int64_t scopes_until_ns, std::int64_t spans_until_ns);

  const Timeline& timeline_;
  std::vector<std::vector<Block>> blocks_;  // by source
  std::size_t block_count_ = 0;
  std::vector<Track> tracks_;
  std::unordered_map<TrackId, std::uint32_t> numbers_;
  std::vector<OrderedScopeEvent> pending_;
  std::vector<QueueSpan> spans_;
};

}  // namespace kymo::stats
