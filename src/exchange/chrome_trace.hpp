// The Chrome Trace Event writer: batches of events in, the JSON out that Perfetto's and Chrome's trace viewers read.
//
// What becomes what ("ts" and "dur" are microseconds of CLOCK_MONOTONIC with three decimals, exact to the nanosecond):
//
//   scope               X on its thread, arguments in args; marked there: "unbalanced" where it did not close itself,
//                       "open" where the trace ends first, "end_lost" where its end is in a part that is missing
//   frame               X on a track of its stream's own, args.number counts 1, 2, 3, ...
//   span of a queue     X on the queue's track while it nests with what is there, else like an async span
//   async span          b and e; cat is the lane; ids are reused, but spans of one id never overlap
//   sample              C; the key in args is the unit, or "value"
//   flow                s, t and f, bound to the slice around them
//   message, sync point i; "dropped so far" and "clock uncertain" as well
//   process, track      M: process_name, process_labels, thread_name, thread_sort_index
//
// Where a bar ends at the very time at which another one of its track ends or begins, "dur" gets more decimals if it
// needs them for ts + dur to be the same double as well: readers that add doubles (speedscope) would take the outer one
// to end before the inner one, and draw what remains open up to the end of the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/events.hpp>

#include "exchange/chrome_names.hpp"
#include "exchange/event_stream.hpp"
#include "exchange/output_file.hpp"

namespace kymo::exchange {

/// Writes batches, given in order, as one Chrome trace. One thread at a time. Errors: OutputError; nothing in a batch,
/// not even a damaged one, is an error.
///
/// Holds only what is open, what was declared, and a few hundred spans a queue. Costs about 50 ns of CPU a scope,
/// writing aside.
class ChromeTraceWriter {
 public:
  ChromeTraceWriter(OutputFile file, TraceContainer container);
  ChromeTraceWriter(const ChromeTraceWriter&) = delete;
  ChromeTraceWriter& operator=(const ChromeTraceWriter&) = delete;
  /// Leaves the file as it is: call finish() before.
  ~ChromeTraceWriter();

  void write(const EventBatch& batch);

  /// Has a function change the text of a scope that has arguments: its event begins at `event` in `text` and lacks its
  /// last brace, its arguments begin at `arguments`.
  using EditScope = void (*)(std::string& text, std::size_t event, std::size_t arguments);
  void edit_scopes(EditScope edit) { edit_ = edit; }

  /// Hands all that was written to the kernel: what a process that is killed now leaves behind.
  void flush() { stream_.flush(); }

  /// Ends what is still open at the last time seen, marked "open", and completes the file. Later calls do nothing.
  void finish();

 private:
  /// An async span is told by its lane and its id.
  using AsyncKey = std::pair<TrackId, std::uint64_t>;
  struct OpenAsync {
    NameId name = 0;
    std::uint64_t lane_id = 0;
    std::int64_t start_ns = 0;
  };
  /// A scope whose close did not come: how far its bar is drawn and how it is marked.
  struct Ending {
    std::size_t depth = 0;
    std::int64_t end_ns = 0;
    std::string_view mark;
  };

  /// 0 where the end is not after the start. Times of damaged captures may be any distance apart.
  [[nodiscard]] static std::int64_t elapsed_ns(std::int64_t start_ns, std::int64_t end_ns);

  void write_run(const ScopeRun& run, const EventBatch& batch);
  void write_lost(ChromeTrack& track, const ScopeRun& run);
  void end_early(ChromeTrack& track, const Ending& ending);
  /// A scope whose end meets no other time on its track is written the short way.
  struct Bar {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    bool end_is_shared = false;
  };
  void write_scope(ChromeTrack& track, SiteId site, const Bar& bar, std::size_t depth);
  void order_equal_scopes();
  void write_drops(ChromeTrack& track, const ScopeRun& run, std::int64_t time_ns);

  void write_spans(const EventBatch& batch);
  void write_queue_span(const ChromeTrack& track, const SpanEvent& span);
  void write_async_span(ChromeTrack& track, const SpanEvent& span);
  void write_async_begins(const EventBatch& batch);
  void append_async(const ChromeTrack& track, char phase, std::string_view name, std::string_view category,
                    std::uint64_t lane_id, std::int64_t time_ns);
  void take_span_arguments(const SpanEvent& span, const EventBatch& batch);

  void write_frames(const EventBatch& batch);
  void write_samples(const EventBatch& batch);
  void write_flows(const EventBatch& batch);
  void write_instants(const EventBatch& batch);
  /// Appends an instant event up to its place; the name is not escaped yet. Close it with '}'.
  std::string& begin_instant(std::string_view name, std::string_view cut_mark, std::string_view category,
                             std::int64_t time_ns, TrackId track, bool is_of_process);

  EventStream stream_;
  ChromeNames names_;
  bool is_finished_ = false;
  std::int64_t last_ns_;

  EditScope edit_ = nullptr;
  // The events of scopes that ended last, began and ended at the same times, each around the one before.
  std::vector<std::size_t> equal_scopes_;
  Bar equal_bar_;
  std::size_t equal_depth_ = 0;

  using AsyncSpans = std::map<AsyncKey, OpenAsync>;
  AsyncSpans open_async_;
  // Async spans of this batch and of the one before that ended without having begun here: threads are drained one after
  // the other, so a begin may come one batch late.
  AsyncSpans ended_unseen_;
  AsyncSpans ended_unseen_before_;
  std::uint64_t last_lane_id_ = 0;
  OpenArguments span_arguments_;
  std::vector<std::size_t> span_order_;
};

}  // namespace kymo::exchange
