// The timeline: one or several captures opened as one, on one time axis.
//
//     kymo::Timeline timeline({"rank0.kymo", "rank1.kymo"});
//     for (const kymo::TrackDeclaration& track : timeline.tracks()) {
//       const kymo::SpanList found = timeline.spans(track.id, {from_ns, to_ns});
//       for (const kymo::Span& span : found.spans) { use(timeline.name_of(span), span.start_ns, span.duration_ns); }
//     }
//
// Times are nanoseconds of CLOCK_MONOTONIC of the first capture's machine. Ids are the timeline's own: they count from
// 1, so that the declaration of an id stands at index id - 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>
#include <kymo/export.hpp>

namespace kymo {

/// A stretch of time, [start_ns, end_ns). The default is all time.
struct TimeRange {
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
};

/// A span of a track: a scope, an async span or one that was handed in.
struct Span {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t self_ns = 0;    ///< scopes: the duration less those of the scopes directly inside; else the duration
  std::uint64_t async_id = 0;  ///< async spans
  TrackId track = 0;
  SiteId site = 0;  ///< scopes; 0 for others, which have a name
  NameId name = 0;
  NameId category = 0;
  std::uint32_t first_argument = 0;  ///< index into SpanList::arguments
  std::uint32_t argument_count = 0;
  std::uint16_t depth = 0;  ///< scopes open below it
  std::uint16_t flags = 0;

  /// It did not close itself: the close of an outer scope or the end of its thread ended it.
  static constexpr std::uint16_t unbalanced = 1;
  /// It had not ended when the capture ended; its duration reaches to the capture's last event.
  static constexpr std::uint16_t open = 2;
  /// It began before the range that was asked for.
  static constexpr std::uint16_t starts_before_range = 4;
  /// It ended after the range that was asked for.
  static constexpr std::uint16_t ends_after_range = 8;
  /// What ended inside it was not all read: self_ns is too large by an unknown amount, and arguments may be missing.
  static constexpr std::uint16_t self_is_bound = 16;
  /// The block with its end is damaged; its duration reaches to where it was last known to be open.
  static constexpr std::uint16_t end_unknown = 32;

  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

/// Spans and what their arguments are made of.
struct SpanList {
  std::vector<Span> spans;
  std::vector<ArgumentValue> arguments;
  std::string text;  ///< the bytes of string arguments

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

/// The stretch between two marks of a frame stream.
struct Frame {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

/// The samples of one metric by ascending time: arrays of one length.
struct MetricSeries {
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;       ///< NaN: could not be read
  std::vector<std::uint8_t> flags;  ///< SampleRun::stale or 0
};

/// The stretch from one sync point of a process to its next.
struct Phase {
  std::uint64_t number = 0;  ///< of the sync point that began it
  ProcessId process = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;  ///< of the last one: the last event of the capture
};

/// How times of a process were brought onto the timeline's axis.
enum class Alignment : std::uint8_t {
  same_boot = 0,   ///< they count from the same boot: exact
  wall_clock = 1,  ///< by readings of the wall clock: as exact as the bound, and as the machines' wall clocks agree
  sync_point = 2,  ///< by a sync point that both share
  none = 3,        ///< nothing to go by: both begin at the same time
};

/// How tables and files call it: as the enumerator.
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
  std::int64_t bound_ns = 0;                               ///< how far off the axis its times may be; -1: not known
  std::vector<std::pair<std::string, std::string>> infos;  ///< header facts, labels, set_info: key and value
};

struct TimelineOptions {
  /// Captures of different boots are aligned by the lowest sync point that they share with the first one, rather than
  /// by wall clock; those that share none fall back to it. Costs a pass over the captures.
  bool align_by_sync_points = false;
  /// Reads what a killed process left in shared memory as if it were in its capture (changing neither).
  bool overlays_spools = true;
  /// Leaves out host, command line, all facts that could tell who ran what, and the directories of files.
  bool redacts = false;
};

/// One or several captures on one axis. Opening costs what opening the captures costs; queries decode only the blocks
/// whose stated time range they need, and memory does not grow with the files beyond the 64 bytes a block of
/// CaptureReader.
///
/// What is damaged is left out and listed in CaptureReader::damages(). Const functions may be called from several
/// threads at once; refresh() by one thread while nobody else uses the timeline.
class KYMO_API Timeline {
 public:
  /// Opens captures and directories of captures (their files *.kymo, in order of name). CaptureError where a path
  /// cannot be opened, a file named here is no capture, or a directory holds none. A file of a directory that is no
  /// capture is left out and listed in complaints().
  explicit Timeline(const std::vector<std::string>& paths, const TimelineOptions& options = {});
  explicit Timeline(const std::string& path, const TimelineOptions& options = {});
  /// Takes captures that are open already, such as in memory.
  explicit Timeline(std::vector<CaptureReader> captures, const TimelineOptions& options = {});
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;
  ~Timeline();

  [[nodiscard]] std::size_t capture_count() const;
  [[nodiscard]] const CaptureReader& capture(std::size_t index) const;
  /// What was left out when opening, and why; what is missing of a killed process's events.
  [[nodiscard]] const std::vector<std::string>& complaints() const;
  /// From the first event to the end of the last one; start_ns == end_ns where there are none.
  [[nodiscard]] TimeRange range() const;

  /// Everything declared, under the timeline's ids, each vector by ascending id.
  [[nodiscard]] const Declarations& declarations() const;
  [[nodiscard]] const std::vector<TimelineProcess>& processes() const;
  [[nodiscard]] const std::vector<TrackDeclaration>& tracks() const { return declarations().tracks; }

  /// The declaration of an id. One that says "(undeclared)" where its declaration is lost or the id is 0.
  [[nodiscard]] const TimelineProcess& process(ProcessId id) const;
  [[nodiscard]] const SiteDeclaration& site(SiteId id) const;
  [[nodiscard]] const TrackDeclaration& track(TrackId id) const;
  [[nodiscard]] const MetricDeclaration& metric(MetricId id) const;
  [[nodiscard]] const FrameStreamDeclaration& frame_stream(FrameStreamId id) const;
  /// The interned text of an id; empty for 0.
  [[nodiscard]] std::string_view name(NameId id) const;
  [[nodiscard]] std::string_view name_of(const Span& span) const {
    return span.site != 0 ? std::string_view(site(span.site).name) : name(span.name);
  }

  /// The spans of a track that overlap the range, by ascending start and depth; a span without duration overlaps where
  /// it begins. Decodes the blocks of the range, and about log2(blocks) more where a scope goes on beyond it.
  [[nodiscard]] SpanList spans(TrackId track, TimeRange range = {}) const;

  /// Hands out every span of every track, block after block, the spans of a block in the order they ended; at last
  /// those still open. The list is reused from call to call. Returns early when `visit` returns false.
  void visit_spans(const std::function<bool(const SpanList&)>& visit) const;

  /// Hands out the batches whose stated time range overlaps `range`, with the timeline's ids and times, by ascending
  /// start of the block, blocks of one capture in the order they were written; `declarations` is empty in all of them.
  /// Returns early when `visit` returns false.
  void visit_batches(TimeRange range, BatchParts parts, const std::function<bool(const EventBatch&)>& visit) const;

  /// The frames of a stream that overlap the range.
  [[nodiscard]] std::vector<Frame> frames(FrameStreamId stream, TimeRange range = {}) const;
  /// The samples of a metric in the range.
  [[nodiscard]] MetricSeries series(MetricId metric, TimeRange range = {}) const;
  /// Messages, flow points, sync points in the range, by ascending time.
  [[nodiscard]] std::vector<Message> messages(TimeRange range = {}) const;
  [[nodiscard]] std::vector<FlowEvent> flows(TimeRange range = {}) const;
  [[nodiscard]] std::vector<SyncPoint> sync_points(TimeRange range = {}) const;
  /// The phases of every process, by ascending start. Costs a pass over the captures.
  [[nodiscard]] std::vector<Phase> phases() const;

  /// What every track recorded and lost, by ascending id. Read from the closing words of captures that were closed;
  /// costs a pass over the others.
  [[nodiscard]] std::vector<TrackTotals> totals() const;
  /// The scopes and async spans that were open when the captures ended. Costs a pass over captures with async tracks.
  [[nodiscard]] SpanList open_spans() const;

  /// Looks for what was appended to the captures and, where a directory was opened, for new captures in it; whether
  /// there was anything. Ids and times given out before stay as they are.
  bool refresh();

  /// What kymo's own layers above this one work on.
  class Implementation;
  [[nodiscard]] const Implementation& implementation() const { return *implementation_; }

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace kymo
