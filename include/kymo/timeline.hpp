// The timeline: one or several captures, opened together on one time axis.
//
//     kymo::Timeline timeline({"rank0.kymo", "rank1.kymo"});
//     for (const kymo::TrackDeclaration& track : timeline.tracks()) {
//       const kymo::SpanList found = timeline.spans(track.id, {from_ns, to_ns});
//       for (const kymo::Span& span : found.spans) { use(timeline.name_of(span), span.start_ns, span.duration_ns); }
//     }
//
// Times are nanoseconds of CLOCK_MONOTONIC of the first capture's machine. Ids are the timeline's own. They count from
// 1; the declaration of an id is at index id - 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>
#include <kymo/export.hpp>

namespace kymo {

/// A time interval, [start_ns, end_ns). The default is all time.
struct TimeRange {
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

/// A span of a track: a scope, an async span or an emitted span.
struct Span {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t self_ns = 0;    ///< scopes: duration minus that of directly nested scopes; others: the duration
  std::uint64_t async_id = 0;  ///< async spans
  TrackId track{};
  SiteId site{};  ///< scopes; 0 for others, which have a name
  NameId name{};
  NameId category{};
  std::uint32_t first_argument = 0;  ///< index into SpanList::arguments
  std::uint32_t argument_count = 0;
  std::uint16_t depth = 0;  ///< scopes open below it
  std::uint16_t flags = 0;

  /// It did not close itself: the close of an outer scope or the end of its thread ended it.
  static constexpr std::uint16_t unbalanced = 1;
  /// It was still open at the end of the capture; its duration extends to the capture's last event.
  static constexpr std::uint16_t open = 2;
  /// It began before the requested range.
  static constexpr std::uint16_t starts_before_range = 4;
  /// It ended after the requested range.
  static constexpr std::uint16_t ends_after_range = 8;
  /// Not all events inside it were read: self_ns is too large by an unknown amount, and arguments may be missing.
  static constexpr std::uint16_t self_is_bound = 16;
  /// The block with its end is missing or damaged; its duration extends to the last time it was known to be open.
  static constexpr std::uint16_t end_unknown = 32;

  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// Spans with their arguments.
struct SpanList {
  std::vector<Span> spans;
  std::vector<ArgumentValue> arguments;
  std::string text;  ///< bytes of string arguments

  /// The text of a string argument.
  [[nodiscard]] std::string_view text_of(const ArgumentValue& value) const {
    return std::string_view(text).substr(static_cast<std::size_t>(value.bits), value.text_size);
  }
  void clear() {
    spans.clear();
    arguments.clear();
    text.clear();
  }
};

/// The number of a frame in its stream. The first whole frame, between the stream's first two marks, is 1 in every
/// table, selection and export.
using FrameNumber = std::uint64_t;

/// The interval between two marks of a frame stream.
struct Frame {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

/// The samples of one metric by ascending time. The arrays have equal lengths.
struct MetricSeries {
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;       ///< NaN: could not be read
  std::vector<std::uint8_t> flags;  ///< SampleRun::stale or 0
};

/// The interval from one sync point of a process to its next. Phases whose end is missing are left out.
struct Phase {
  std::uint64_t number = 0;  ///< number of the sync point at its start
  ProcessId process{};
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< for the last phase: the last event of the capture
};

/// How a process's times were aligned with the timeline's axis.
enum class Alignment : std::uint8_t {
  same_boot = 0,   ///< same boot as the first capture: exact
  wall_clock = 1,  ///< by wall-clock readings: limited by the bound and the agreement of the machines' wall clocks
  sync_point = 2,  ///< by a common sync point
  none = 3,        ///< no common reference: both start at the same time
};

/// Name for tables and files: that of the enumerator.
[[nodiscard]] constexpr std::string_view name_of(Alignment alignment) noexcept {
  switch (alignment) {
    case Alignment::same_boot:
      return "same_boot";
    case Alignment::wall_clock:
      return "wall_clock";
    case Alignment::sync_point:
      return "sync_point";
    case Alignment::none:
      break;
  }
  return "none";
}

/// A process of the timeline.
struct TimelineProcess {
  ProcessDeclaration declaration;  ///< with the timeline's id
  std::size_t capture = 0;         ///< index into captures()
  Alignment alignment = Alignment::same_boot;
  std::int64_t offset_ns = 0;                              ///< was added to its times
  std::int64_t bound_ns = 0;                               ///< bound on the error of its times on the axis; -1: unknown
  std::vector<std::pair<std::string, std::string>> infos;  ///< header facts, labels, set_info: key and value
};

/// How captures are put on one axis, and what is read of them.
struct TimelineOptions {
  /// Aligns captures of different boots by the lowest sync point that they share with the first one, instead of wall
  /// clock. Captures that share none use the wall clock. Costs a pass over the captures.
  bool align_by_sync_points = false;
  /// Includes data that a killed process left in shared memory, as if it were in its capture. Changes neither.
  bool overlays_spools = true;
  /// Leaves out host, command line, all facts that could identify people or programs, and the directories of files.
  bool redacts = false;
};

/// One or several captures on one axis. Opening costs the same as opening the captures. Queries decode only the blocks
/// whose declared time range they need. Memory does not grow with the files, except for CaptureReader's 64 bytes a
/// block.
///
/// Damaged data is left out and listed in CaptureReader::damages(). Const functions are thread-safe. refresh() needs
/// exclusive use of the timeline.
class KYMO_API Timeline {
 public:
  /// Opens captures and directories of captures (their files *.kymo, in order of name). Throws CaptureError if a path
  /// cannot be opened, a file named here is not a capture, or a directory contains none. A file in a directory that is
  /// not a capture is left out and listed in complaints(). An empty file beside others, whose process was killed before
  /// it recorded anything, is left out and listed in empty_files().
  explicit Timeline(const std::vector<std::string>& paths, const TimelineOptions& options = {});
  explicit Timeline(const std::string& path, const TimelineOptions& options = {});
  /// Takes captures that are already open, for example in memory.
  explicit Timeline(std::vector<CaptureReader> captures, const TimelineOptions& options = {});
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;
  ~Timeline();

  [[nodiscard]] std::size_t capture_count() const;
  [[nodiscard]] const CaptureReader& capture(std::size_t index) const;
  /// Data left out at opening, with reasons, and data missing from a killed process.
  [[nodiscard]] const std::vector<std::string>& complaints() const;
  /// Files left out because they are empty. Nothing is missing; refresh() takes those that became captures.
  [[nodiscard]] const std::set<std::string>& empty_files() const;
  /// From the first event to the end of the last; start_ns == end_ns if there are none.
  [[nodiscard]] TimeRange range() const;

  /// All declarations with the timeline's ids; each vector by ascending id.
  [[nodiscard]] const Declarations& declarations() const;
  [[nodiscard]] const std::vector<TimelineProcess>& processes() const;
  [[nodiscard]] const std::vector<TrackDeclaration>& tracks() const { return declarations().tracks; }

  /// The declaration of an id. Its name is "(undeclared)" if the declaration is lost or the id is 0.
  [[nodiscard]] const TimelineProcess& process(ProcessId id) const;
  [[nodiscard]] const SiteDeclaration& site(SiteId id) const;
  [[nodiscard]] const TrackDeclaration& track(TrackId id) const;
  [[nodiscard]] const MetricDeclaration& metric(MetricId id) const;
  [[nodiscard]] const FrameStreamDeclaration& frame_stream(FrameStreamId id) const;
  /// The interned text of an id; empty for 0.
  [[nodiscard]] std::string_view name(NameId id) const;
  [[nodiscard]] std::string_view name_of(const Span& span) const {
    return span.site ? std::string_view(site(span.site).name) : name(span.name);
  }

  /// The spans of a track that overlap the range, by ascending start and depth. A span without duration counts at its
  /// start time. Decodes the blocks of the range, plus about log2(blocks) if a scope continues beyond it.
  [[nodiscard]] SpanList spans(TrackId track, TimeRange range = {}) const;

  /// Passes every span of every track to `visit`, block by block; within a block in the order in which the spans ended.
  /// Spans that are still open come last. The list is reused between calls. Stops early if `visit` returns false.
  /// `on_progress`, if any, is told the finished share from 0 to 1.
  void visit_spans(const std::function<bool(const SpanList&)>& visit,
                   const std::function<void(double)>& on_progress = nullptr) const;

  /// The frames of a stream that overlap the range; lost events are in none. Without a range, frames()[i] has
  /// the FrameNumber i + 1.
  [[nodiscard]] std::vector<Frame> frames(FrameStreamId stream, TimeRange range = {}) const;
  /// The samples of a metric in the range.
  [[nodiscard]] MetricSeries series(MetricId metric, TimeRange range = {}) const;
  /// Messages, flow points and sync points in the range, by ascending time.
  [[nodiscard]] std::vector<Message> messages(TimeRange range = {}) const;
  [[nodiscard]] std::vector<FlowEvent> flows(TimeRange range = {}) const;
  [[nodiscard]] std::vector<SyncPoint> sync_points(TimeRange range = {}) const;
  /// The phases of every process, by ascending start. Costs a pass over the captures.
  [[nodiscard]] std::vector<Phase> phases() const;

  /// Recorded and lost events of every track, by ascending id. Read from the final totals of cleanly closed captures;
  /// costs a pass over the others and over those of flight recorders.
  [[nodiscard]] std::vector<TrackTotals> totals() const;
  /// The scopes and async spans open at the end of the captures. Costs a pass over captures with async tracks.
  [[nodiscard]] SpanList open_spans() const;

  /// Reads what was appended to the captures and, once a process was killed, what it left in shared memory; if a
  /// directory was opened, finds new captures in it. Returns true if there was anything new. Ids and times returned
  /// before remain valid.
  bool refresh();

  /// For kymo's own files that implement this class.
  class Implementation;
  [[nodiscard]] const Implementation& implementation() const { return *implementation_; }

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
