// Levels of detail: precomputed views of parts of a capture, so that the cost of drawing depends on the pixels only.
//
// A Detail is made once, either from one event block (exact spans, marks and samples, and coarser forms of them) or
// from a summary (coarse forms only). It never changes after that, so several threads may read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/export.hpp>
#include <kymo/timeline.hpp>

#include "base/site_or_name.hpp"

namespace kymo::timeline {

/// A span, or its known part within a block. Not a kymo::Span: whole captures of these stay in memory, 24 bytes each.
struct DetailSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t name = 0;  ///< see DetailLane::what
  std::uint16_t depth = 0;
  std::uint16_t flags = 0;

  static constexpr std::uint16_t unbalanced = Span::unbalanced;
  /// It continues beyond its block; end_ns is the block's end.
  static constexpr std::uint16_t goes_on = Span::open;
};

/// The spans of one depth of one track by ascending start; they do not overlap.
struct DetailLane {
  TrackId track;
  std::uint16_t depth = 0;
  bool named = false;  ///< emitted and async spans instead of scopes
  std::vector<DetailSpan> spans;
  [[nodiscard]] base::SiteOrName what(const DetailSpan& span) const { return base::site_or_name(named, span.name); }
};

/// Coverage of an interval, and the name with the largest part of it.
struct DetailBin {
  std::uint32_t name = 0;  ///< of a site, or of a span if the row is `named`
  float covered = 0;       ///< 0 to 1
};

/// The bins of one depth of one track: those of DetailBins from first_bin on.
struct DetailRow {
  TrackId track;
  std::uint16_t depth = 0;
  bool named = false;
  std::int64_t start_ns = 0;  ///< of the first bin
  std::uint32_t first_bin = 0;
  std::uint32_t bin_count = 0;
};

/// The bins of all rows at one width. The width for scopes and for named spans may differ.
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
  std::int64_t longest_start_ns = 0;  ///< start of the longest one; unknown in summaries: start_ns
  std::int64_t longest_ns = 0;
  std::uint64_t count = 0;
};

/// The marks of one frame stream. The groups leave out a frame that began in an earlier Detail, except in summaries.
struct DetailFrames {
  FrameStreamId stream;
  std::int64_t first_mark_ns = 0;
  std::int64_t last_mark_ns = 0;
  std::vector<std::int64_t> marks_ns;  ///< ascending; none in summaries
  std::vector<FrameGroup> groups;      ///< of up to DetailFrames::group_size frames
  bool is_break = false;               ///< marks may be missing here, at its only "mark": no frame is formed across it
  static constexpr std::size_t group_size = 64;
};

/// Consecutive samples. `min` > `max` if all are NaN.
struct SampleGroup {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double min = 0;
  double max = 0;
  double last = 0;        ///< NaN: could not be read
  bool is_stale = false;  ///< all were read before their source had a new value
};

/// The samples of one metric.
struct DetailSeries {
  MetricId metric;
  std::vector<SampleGroup> samples;  ///< one per sample; none in summaries
  std::vector<SampleGroup> groups;   ///< of up to group_size samples
  static constexpr std::size_t group_size = 64;
};

/// Consecutive messages of one track.
struct DetailMessage {
  std::int64_t time_ns = 0;  ///< time of the first
  TrackId track;
  std::uint32_t count = 1;
  std::string text;  ///< text of the first, cut at most_bytes
  bool is_cut = false;
  static constexpr std::size_t most_bytes = 1024;
};

/// A precomputed view of an interval of a capture.
struct Detail {
  static constexpr std::size_t levels = 7;  ///< of bins; each has half the bins of the previous one

  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool is_exact = false;          ///< lanes hold every span
  std::uint64_t scopes = 0;       ///< number of scopes opened in it
  std::vector<DetailLane> lanes;  ///< by ascending track, then scopes before named, then depth
  std::array<DetailBins, levels> bins;
  /// If it is exact: run states by ascending thread; those of one ascend apart from each other.
  std::vector<StateRun> states;
  std::vector<ThreadWake> wakes;  ///< if it is exact, by ascending time
  /// Run states, in rows as those of capture::Summary::states: threads' by state, then CPUs' with the threads there.
  std::array<DetailBins, levels> state_bins;
  std::vector<DetailFrames> frames;
  std::vector<DetailSeries> series;
  /// From blocks only. Each is sorted by ascending time and limited to most_marks. Above the limit, messages are
  /// joined, flows of some ids are left out (the same ids in every block), and the last sync points are left out.
  std::vector<DetailMessage> messages;
  std::vector<FlowEvent> flows;
  std::vector<SyncPoint> sync_points;
  std::vector<StackSample> stack_samples;  ///< above the limit every nth
  static constexpr std::size_t most_marks = 2048;
  std::uint64_t dropped_scopes = 0;  ///< total of its tracks up to its end; blocks only
  std::size_t bytes = 0;             ///< approximate memory
};

/// The frames between marks given in any order; there is at least one.
[[nodiscard]] KYMO_API DetailFrames make_frames(FrameStreamId stream, std::vector<std::int64_t> marks_ns);

/// Makes the Detail of a batch. With spans it takes about 40 bytes a scope, otherwise constant memory. About 40 ns a
/// scope. Accepts any times and depths.
[[nodiscard]] KYMO_API Detail make_detail(const EventBatch& batch, bool with_spans);

}  // namespace kymo::timeline
