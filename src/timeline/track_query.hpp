// The spans of one track in a range of time, out of the blocks that the range needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "timeline/source.hpp"
#include "timeline/span_builder.hpp"

namespace kymo::timeline {

/// One question to one capture. Scope events of a track stand in the file in the order they happened, and every block
/// states the scopes open at its start, quiet tracks' as well. A block's stated range holds all its events, but may
/// reach back over its neighbours for a span that was handed in late. So:
///
/// - blocks that ended before the range hold nothing of it and are left out;
/// - the first block that begins after the range tells what was open through the end of the range, even where no block
///   overlaps it; no scope event of the range comes after that block, spans that were handed in late may;
/// - where a scope ended beyond is found by bisection: a block in which it is open at the start comes before its end.
class TrackQuery {
 public:
  /// `is_lane`: the track may hold async spans, and whether one is still open is worth a pass over the capture.
  TrackQuery(const Source& source, TrackId track, bool is_lane, TimeRange range)
      : source_(source), track_(track), is_lane_(is_lane), range_(range), builder_(track) {}

  /// Runs the query: appends the track's spans that overlap the range, by ascending start and depth.
  void run(SpanList& out);

 private:
  /// What a block says of the track's start: the open scopes, none where it does not name the track.
  struct Start {
    bool is_readable = false;
    std::vector<OpenScope> open;
  };
  /// Blocks between which a scope ended: it is open after `after`, and no longer at the start of `before`.
  struct Gap {
    std::size_t after = 0;
    std::size_t before = 0;
  };

  void take_run(std::size_t block, const ScopeRun* run, SpanList& out);
  void take_block(std::size_t block, bool wants_scopes, SpanList& out);
  bool stop_at(std::size_t block, SpanList& out);
  void catch_up(SpanList& out);
  void resolve(SpanList& out, std::size_t first, Gap gap);
  void find_end(Span& span, Gap gap);
  [[nodiscard]] const Start& start_of(std::size_t block);
  [[nodiscard]] const SpanList& ends_of(std::size_t block);
  [[nodiscard]] bool overlaps(const Span& span) const;
  void append_open_async(SpanList& out) const;
  void keep_overlapping(SpanList& out);

  const Source& source_;
  TrackId track_;
  bool is_lane_;
  TimeRange range_;
  SpanBuilder builder_;
  EventBatch batch_;
  std::size_t last_block_ = 0;  // that a run was taken from
  bool has_run_ = false;
  std::unordered_map<std::size_t, Start> starts_;  // of blocks that bisections looked at
  std::size_t ends_block_ = 0;                     // the block whose scopes are in ends_, where there are any
  SpanList ends_;
  std::size_t ends_closed_ = 0;  // so many of them ended in it, the others are open after it
};

}  // namespace kymo::timeline
