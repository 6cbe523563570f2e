// The spans of one track in a time range, read from only the blocks that the range needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <kymo/timeline.hpp>

#include "timeline/source.hpp"
#include "timeline/span_builder.hpp"

namespace kymo::timeline {

/// One query to one capture. Scope events of a track are in the file in chronological order, and every block states the
/// scopes open at its start, including those of idle tracks. A block's declared range covers all its events, but may
/// overlap earlier blocks because of a span handed in late. Therefore:
///
/// - blocks that ended before the range contain nothing of it and are skipped;
/// - the first block that begins after the range states the scopes open at the end of the range, even if no block
///   overlaps the range. No scope event of the range comes after that block; spans handed in late may;
/// - the end of a scope beyond the range is found by bisection: a block with the scope open at its start precedes the
///   end.
class TrackQuery {
 public:
  /// `is_lane`: the track may hold async spans, so a pass over the capture is needed to find the open ones.
  TrackQuery(const Source& source, TrackId track, bool is_lane, TimeRange range)
      : source_(source), track_(track), is_lane_(is_lane), range_(range), builder_(track) {}

  /// Runs the query: appends the track's spans that overlap the range, by ascending start and depth.
  void run(SpanList& out);

 private:
  /// The state of the track at the start of a block: its open scopes; none if the block does not name the track.
  struct Start {
    bool is_readable = false;
    std::vector<OpenScope> open;
  };
  /// Blocks between which a scope ended: it is open after `after`, and closed at the start of `before`.
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
  std::size_t last_block_ = 0;  // block of the last run
  bool has_run_ = false;
  std::unordered_map<std::size_t, Start> starts_;  // of blocks read by bisections
  std::size_t ends_block_ = 0;                     // block of the scopes in ends_, if any
  SpanList ends_;
  std::size_t ends_closed_ = 0;  // number of scopes that ended in it; the others are open after it
};

}  // namespace kymo::timeline
