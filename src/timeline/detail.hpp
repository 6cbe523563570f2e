// Levels of detail: what a stretch of a capture looks like, so that a picture of any width costs what its pixels cost.
//
// A Detail is made once, out of one block of events (exact spans, marks and samples, and coarser forms of them) or out
// of a summary (coarse forms only), and never changes after that: it may be read by several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

namespace kymo::timeline {

/// A span, or the part of it that is known within a block.
struct DetailSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t name = 0;  ///< SiteId, or NameId where its lane is `named`
  std::uint16_t depth = 0;
  std::uint16_t flags = 0;

  static constexpr std::uint16_t unbalanced = 1;
  /// It goes on beyond its block; end_ns is the block's end.
  static constexpr std::uint16_t goes_on = 2;
};

/// The spans of one depth of one track by ascending start; they do not overlap.
struct DetailLane {
  TrackId track = 0;
  std::uint16_t depth = 0;
  bool named = false;  ///< spans that were handed in and async spans, rather than scopes
  std::vector<DetailSpan> spans;
};

/// How much of a stretch was covered, and by what most.
struct DetailBin {
  std::uint32_t name = 0;
  float covered = 0;  ///< 0 to 1
};

/// The bins of one depth of one track: those of DetailBins from first_bin on.
struct DetailRow {
  TrackId track = 0;
  std::uint16_t depth = 0;
  bool named = false;
  std::int64_t start_ns = 0;  ///< of the first bin
  std::uint32_t first_bin = 0;
  std::uint32_t bin_count = 0;
};

/// The bins of all rows at one width. Scopes and what was handed in may have bins of different widths.
struct DetailBins {
  std::int64_t scopes_bin_ns = 1;
  std::int64_t named_bin_ns = 1;
  std::vector<DetailRow> rows;  ///< by ascending track, then scopes before named, then depth
  std::vector<DetailBin> bins;
  [[nodiscard]] std::int64_t bin_ns(const DetailRow& row) const { return row.named ? named_bin_ns : scopes_bin_ns; }
};

/// Consecutive frames.
struct FrameGroup {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t longest_start_ns = 0;  ///< of the longest one; unknown in summaries: start_ns
  std::int64_t longest_ns = 0;
  std::uint64_t count = 0;
};

/// The marks of one frame stream. A frame that began in an earlier Detail is in none of the groups, except in
/// summaries.
struct DetailFrames {
  FrameStreamId stream = 0;
  std::int64_t first_mark_ns = 0;
  std::int64_t last_mark_ns = 0;
  std::vector<std::int64_t> marks_ns;  ///< ascending; none in summaries
  std::vector<FrameGroup> groups;      ///< of up to DetailFrames::group_size frames
  static constexpr std::size_t group_size = 64;
};

/// Consecutive samples. `min` > `max` where none is a number.
struct SampleGroup {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double min = 0;
  double max = 0;
  double last = 0;        ///< NaN: could not be read
  bool is_stale = false;  ///< all of them were read before their source had a new value
};

/// The samples of one metric.
struct DetailSeries {
  MetricId metric = 0;
  std::vector<SampleGroup> samples;  ///< one each; none in summaries
  std::vector<SampleGroup> groups;   ///< of up to group_size samples
  static constexpr std::size_t group_size = 64;
};

/// Consecutive messages of one track.
struct DetailMessage {
  std::int64_t time_ns = 0;  ///< of the first
  TrackId track = 0;
  std::uint32_t count = 1;
  std::string text;  ///< of the first, cut at most_bytes
  bool is_cut = false;
  static constexpr std::size_t most_bytes = 1024;
};

/// What a stretch of a capture looks like.
struct Detail {
  static constexpr std::size_t levels = 3;  ///< of bins: each has a eighth of the bins of the one before

  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool is_exact = false;          ///< lanes hold every span
  std::uint64_t scopes = 0;       ///< that were opened in it
  std::vector<DetailLane> lanes;  ///< by ascending track, then scopes before named, then depth
  std::array<DetailBins, levels> bins;
  std::vector<DetailFrames> frames;
  std::vector<DetailSeries> series;
  /// Made of blocks only, each by ascending time and at most most_marks of them: messages are joined where there are
  /// more, of flows those of some ids are left out (the same ones in every block), of sync points the last.
  std::vector<DetailMessage> messages;
  std::vector<FlowEvent> flows;
  std::vector<SyncPoint> sync_points;
  static constexpr std::size_t most_marks = 2048;
  std::uint64_t dropped_scopes = 0;  ///< by its tracks up to its end, in all; of blocks
  std::size_t bytes = 0;             ///< of memory, about
};

/// Describes a batch. With spans it takes about 40 bytes a scope, else memory that does not grow with their number.
/// About 40 ns a scope. Any batch is taken, whatever its times and depths.
[[nodiscard]] KYMO_API Detail make_detail(const EventBatch& batch, bool with_spans);

}  // namespace kymo::timeline
