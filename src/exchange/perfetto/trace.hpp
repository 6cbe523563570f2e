// The Perfetto trace writer: turns batches of events into the protobuf that Perfetto's trace processor and UI read.
//
// The mapping (times are nanoseconds of CLOCK_MONOTONIC, which the trace names as its clock):
//
//   scope               slice on its thread's track, a begin and an end; arguments are debug annotations of the end;
//                       marked there: "unbalanced" if it did not close itself, "open" if the trace ends first,
//                       "end_lost" if its end is in a missing part
//   frame               slice on a track of its stream's own; the annotation `number` counts 1, 2, 3, ...
//   span of a queue     slice on the queue's track while it nests with the spans there, else on a row beside it
//   async span          slice on one of its lane's rows, using as few rows as possible without overlaps
//   sample              value of a counter track with the metric's unit
//   flow                flow events of the JSON kind (s, t, f), bound to the slice that is open at that time
//   stack sample        perf sample of its thread, with the call stack
//   stack of a wait     slice on a row of its thread's, with the call stack and its length as the stack's weight
//   run state           slice on a row of its thread's; running ones are switches of the scheduler as well (export.cpp)
//   message, sync point instant; "dropped so far", "clock uncertain" and "run", which has the facts, as well
//   process, track      track descriptor; rank and host are labels of the process
//   wall clock          clock snapshots, one a second at most
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/timeline.hpp>

#include "exchange/common/exporter.hpp"
#include "exchange/perfetto/names.hpp"

namespace kymo::exchange {

/// The beginning of every trace, by which kymo recognises its own files: the packets that clear the state of its two
/// sequences.
inline constexpr std::string_view perfetto_mark =
    "\x0A\x0A\x50\x01\x68\x01\xDA\x03\x03\xD0\x03\x03\x0A\x04\x50\x02\x68\x01";

/// Writes batches, given in order, as one Perfetto trace. One thread at a time. Throws OutputError; nothing in a batch,
/// not even a damaged one, is an error.
///
/// Holds only open spans, declarations, and a few hundred spans per queue. Costs about 50 ns of CPU per scope.
class PerfettoTraceWriter {
 public:
  explicit PerfettoTraceWriter(base::OutputFile file);
  PerfettoTraceWriter(const PerfettoTraceWriter&) = delete;
  PerfettoTraceWriter& operator=(const PerfettoTraceWriter&) = delete;

  /// `has_own_clock`: the batch's clock anchors belong to the trace's clock.
  void write(const EventBatch& batch, bool has_own_clock = true);

  /// The frames of each stream are numbered from there.
  void count_frames_before(const capture::FrameCounts& counts) { names_.count_frames_before(counts); }

  /// For packets of others, between two calls of write().
  [[nodiscard]] std::string& buffer() { return file_.buffer(); }
  /// A wait, named after the function that waited. `callstack`: its interned call stack; 0: none.
  void write_wait(const StackSample& wait, std::string_view function, std::uint64_t callstack);

  /// Ends the open spans at the last time seen, marks them "open", and completes the file. Later calls do nothing.
  /// `open` tells of the async spans among them which ones end earlier, as their ends are in a missing part.
  void finish(const SpanList& open = {});

 private:
  class ScopeVisitor;

  /// Lane and id identify an async span.
  using AsyncKey = std::pair<TrackId, std::uint64_t>;
  using AsyncSpans = std::map<AsyncKey, std::uint64_t>;  ///< the row on which each span is drawn

  void write_run(const ScopeRun& run, const EventBatch& batch);
  void write_drops(PerfettoTrack& track, const ScopeRun& run, std::int64_t time_ns);
  void write_spans(const EventBatch& batch);
  void write_span(const SpanEvent& span, const EventBatch& batch);
  void write_async_begins(const EventBatch& batch);
  void append_span_begin(const SpanEvent& span, bool has_category, const std::string& place);
  void append_span_arguments(const SpanEvent& span, const EventBatch& batch);
  /// Begins the end of a slice, which is built in event_.
  void begin_slice_end(const std::string& place);
  void append_slice_end(std::int64_t time_ns, const std::string& place);
  void write_frames(const EventBatch& batch);
  void write_samples(const EventBatch& batch);
  void write_states(const EventBatch& batch);
  void write_state(const PerfettoThread& thread, const ThreadState& state);
  void order_flows(const EventBatch& batch);
  void write_flow(const FlowEvent& flow);
  void write_instants(const EventBatch& batch);
  void write_anchors(const EventBatch& batch);
  void write_facts(const EventBatch& batch);
  /// Begins the event that is built in event_.
  void begin_event(perfetto::EventType type, PerfettoNames::Category category, const std::string& place);
  void begin_instant(PerfettoNames::Category category, std::string_view name, const std::string& place);
  [[nodiscard]] const std::string& place_of(TrackId track);

  base::OutputFile file_;
  PerfettoNames names_;
  bool is_begun_ = false;
  bool is_finished_ = false;
  std::int64_t last_ns_;
  std::int64_t next_anchor_ns_;
  std::string event_;

  AsyncSpans open_async_;
  // Async spans of this and the previous batch that ended without a begin so far. Threads are drained one after
  // another, so a begin may arrive one batch late.
  AsyncSpans ended_unseen_;
  AsyncSpans ended_unseen_before_;
  std::uint64_t last_lane_id_ = 0;
  std::vector<std::size_t> span_order_;
  std::vector<std::size_t> flow_order_;  ///< the batch's flow points by track and time
  std::vector<bool> flow_is_written_;
};

/// A timeline as one Perfetto trace.
ExportWriter write_perfetto;

}  // namespace kymo::exchange
