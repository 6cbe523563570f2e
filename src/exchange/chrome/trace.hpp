// The Chrome Trace Event writer: turns batches of events into the JSON that Perfetto's and Chrome's trace viewers read.
//
// The mapping ("ts" and "dur" are microseconds of CLOCK_MONOTONIC with three decimals, exact to the nanosecond):
//
//   scope               X on its thread, arguments in args; marked there: "unbalanced" if it did not close itself,
//                       "open" if the trace ends first, "end_lost" if its end is in a missing part
//   frame               X on a track of its stream's own, args.number counts 1, 2, 3, ...
//   span of a queue     X on the queue's track while it nests with the spans there, else like an async span
//   async span          b and e; cat is the lane; ids are reused, but spans of one id never overlap
//   sample              C; the key in args is the unit, or "value"
//   flow                s, t and f, bound to the slice around them
//   message, sync point i; "dropped so far" and "clock uncertain" as well
//   run state           X on a row of its thread's own, args.cpu is the CPU (exports only)
//   process, track      M: process_name, process_labels, thread_name, thread_sort_index
//
// If a bar ends exactly when another one of its track ends or begins, "dur" gets more decimals as needed to make ts +
// dur the same double. Otherwise readers that add doubles (speedscope) would see the outer bar end before the inner
// one, and draw the inner one as open up to the end of the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <kymo/events.hpp>
#include <kymo/timeline.hpp>

#include "base/output/output_file.hpp"
#include "exchange/chrome/event_stream.hpp"
#include "exchange/chrome/names.hpp"

namespace kymo::exchange {

/// Writes batches, given in order, as one Chrome trace. One thread at a time. Throws OutputError; nothing in a batch,
/// not even a damaged one, is an error.
///
/// Holds only open spans, declarations, and a few hundred spans per queue. Costs about 50 ns of CPU per scope without
/// file output.
class ChromeTraceWriter {
 public:
  ChromeTraceWriter(base::OutputFile file, TraceContainer container);
  ChromeTraceWriter(const ChromeTraceWriter&) = delete;
  ChromeTraceWriter& operator=(const ChromeTraceWriter&) = delete;
  /// Leaves the file incomplete unless finish() was called.
  ~ChromeTraceWriter();

  void write(const EventBatch& batch);
  /// Writes the run states of a batch, after write().
  void write_states(const EventBatch& batch);
  /// Takes what the batches that follow refer to and do not declare.
  void declare(const Declarations& declarations) { names_.declare(declarations); }

  /// The frames of each stream are numbered from there.
  void count_frames_before(const capture::FrameCounts& counts) { names_.count_frames_before(counts); }

  /// Sets a function that edits the text of each scope with arguments. The scope's event begins at `event` in `text`
  /// and lacks its last brace; its arguments begin at `arguments`.
  using EditScope = void (*)(std::string& text, std::size_t event, std::size_t arguments);
  void edit_scopes(EditScope edit) { edit_ = edit; }

  /// Writes everything to the kernel. A process killed after that leaves it in the file.
  void flush() { stream_.flush(); }

  /// Ends the open spans at the last time seen, marks them "open", and completes the file. Later calls do nothing.
  /// `open` tells of the async spans among them which ones end earlier, as their ends are in a missing part.
  void finish(const SpanList& open = {});

 private:
  /// Lane and id identify an async span.
  using AsyncKey = std::pair<TrackId, std::uint64_t>;
  struct OpenAsync {
    NameId name;
    std::uint64_t lane_id = 0;
    std::int64_t start_ns = 0;
  };
  using AsyncSpans = std::map<AsyncKey, OpenAsync>;
  /// For a scope without a close: where its bar ends and how it is marked.
  struct Ending {
    std::size_t depth = 0;
    std::int64_t end_ns = 0;
    std::string_view mark;
  };

  void write_run(const ScopeRun& run, const EventBatch& batch);
  void write_lost(ChromeTrack& track, const ScopeRun& run);
  void end_early(ChromeTrack& track, const Ending& ending);
  void end_async(const AsyncSpans::value_type& open, const Ending& ending);
  /// The times of a scope's bar. If the end coincides with no other time on its track, it is written the short way.
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

  void write_frames(const EventBatch& batch);
  void write_samples(const EventBatch& batch);
  void write_flows(const EventBatch& batch);
  void write_state(const ChromeThread& thread, const ThreadState& state);
  void write_instants(const EventBatch& batch);
  /// Appends an instant event up to its place; escapes the name. Close it with '}'.
  std::string& begin_instant(std::string_view name, std::string_view cut_mark, std::string_view category,
                             std::int64_t time_ns, TrackId track, bool is_of_process);

  EventStream stream_;
  ChromeNames names_;
  bool is_finished_ = false;
  std::int64_t last_ns_;

  EditScope edit_ = nullptr;
  // The events of the last scopes that ended with equal starts and ends, each around the one before.
  std::vector<std::size_t> equal_scopes_;
  Bar equal_bar_;
  std::size_t equal_depth_ = 0;

  AsyncSpans open_async_;
  // Async spans of this and the previous batch that ended without a begin so far. Threads are drained one after
  // another, so a begin may arrive one batch late.
  AsyncSpans ended_unseen_;
  AsyncSpans ended_unseen_before_;
  std::uint64_t last_lane_id_ = 0;
  OpenArguments span_arguments_;
  std::vector<std::size_t> span_order_;
};

}  // namespace kymo::exchange
