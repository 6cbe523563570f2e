// Events: the common form that sinks receive, captures store and readers return. Times are nanoseconds of
// CLOCK_MONOTONIC of the recorded process.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <kymo/argument.hpp>
#include <kymo/declarations.hpp>

namespace kymo {

/// The open or close of a scope on one track.
struct ScopeEvent {
  std::int64_t time_ns = 0;
  SiteId site{};  ///< site of an open; 0 for a close
  std::uint16_t depth =
      0;  ///< scopes open below this one, 0 for an outermost scope. A close also ends every deeper scope
  std::uint16_t flags = 0;

  /// On a close: the recorder closed the scope because its thread ended.
  static constexpr std::uint16_t forced = 1;

  [[nodiscard]] bool is_open() const { return site != SiteId{}; }
};

namespace detail {

/// For vectors that are resized and then filled: resize() does not initialize new elements, which would cost as much as
/// filling them.
template <typename T>
struct UninitializedAllocator : std::allocator<T> {
  // NOLINTBEGIN(readability-identifier-naming): std::allocator_traits looks for these names
  template <typename Other>
  struct rebind {
    using other = UninitializedAllocator<Other>;
  };
  // NOLINTEND(readability-identifier-naming)
  template <typename Element>
  void construct(Element* /*place*/) noexcept {}
  template <typename Element, typename... Values>
  void construct(Element* place, Values&&... values) {
    ::new (static_cast<void*>(place)) Element(std::forward<Values>(values)...);
  }
};

}  // namespace detail

/// A vector whose resize() leaves the values of new events undefined.
using ScopeEvents = std::vector<ScopeEvent, detail::UninitializedAllocator<ScopeEvent>>;

/// A scope that was open at the start of a batch.
struct OpenScope {
  std::int64_t start_ns = 0;
  SiteId site{};
};

/// A named value on a span. Integers, floats and booleans are stored in `bits`, strings in the batch's text.
struct ArgumentValue {
  NameId name{};
  ArgumentType type = ArgumentType::int64;
  bool is_cut = false;          ///< the string exceeded the size limit
  std::uint32_t text_size = 0;  ///< string size in bytes
  std::uint64_t bits = 0;       ///< the value's bits, or the string's offset in EventBatch::text
};

/// An argument of a scope: the innermost scope after the first `position` events of its run.
struct ScopeArgument {
  std::uint32_t position = 0;
  ArgumentValue value;
};

/// The scope events of one track in one batch, in chronological order.
struct ScopeRun {
  TrackId track{};
  std::uint64_t first_sequence = 0;  ///< the run holds the track's sequence numbers [first_sequence, end_sequence)
  std::uint64_t end_sequence = 0;
  std::uint64_t dropped_scopes = 0;      ///< total of scopes that the track has lost so far
  std::uint64_t dropped_others = 0;      ///< total of arguments, samples and other events lost so far
  std::vector<OpenScope> open_at_start;  ///< outermost first
  ScopeEvents events;
  std::vector<ScopeArgument> arguments;  ///< by ascending position
};

/// A span from emit_span, or an async span that has ended.
struct SpanEvent {
  TrackId track{};
  NameId name{};
  NameId category{};  ///< 0: none
  std::uint32_t argument_count = 0;
  std::uint32_t first_argument = 0;  ///< index into EventBatch::span_arguments
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t async_id = 0;  ///< of an AsyncSpan; 0 for emit_span
};

/// The start of an async span. If no SpanEvent with its id follows, it was still open at the end.
struct AsyncBegin {
  TrackId track{};
  NameId name{};
  std::int64_t time_ns = 0;
  std::uint64_t async_id = 0;
};

/// The end of one frame and the start of the next in a stream; or a break, in captures only.
struct FrameMark {
  FrameStreamId stream{};
  TrackId track{};  ///< track of the thread that set the mark; 0: a break
  std::int64_t time_ns = 0;
  bool is_break = false;  ///< marks may be missing here: no frame is formed across it
};

/// Samples of one metric, by ascending time.
struct SampleRun {
  MetricId metric{};
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;       ///< NaN: could not be read
  std::vector<std::uint8_t> flags;  ///< one per sample, or empty if all are 0

  /// The source had no new value since an earlier sample: the reading is older than its time.
  static constexpr std::uint8_t stale = 1;
};

/// A stretch in which a thread was in one state.
struct ThreadState {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;  ///< not negative
  std::uint32_t cpu = 0;         ///< the CPU that it ran on last
  RunState state = RunState::running;

  [[nodiscard]] std::int64_t end_ns() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start_ns) + static_cast<std::uint64_t>(duration_ns));
  }
};

/// The states of one thread by ascending time. What lies between two of them is not known.
struct StateRun {
  ThreadId thread{};
  std::vector<ThreadState> states;
};

/// A thread ended another's wait: the other could go on from then on.
struct ThreadWake {
  ThreadId thread{};  ///< that waited
  ThreadId waker{};
  std::int64_t time_ns = 0;
};

/// A moment at which a thread was found on a CPU, or the end of a wait. Those on a CPU come at the rate in the
/// observer's fact `stacks.hz`, counted in each thread's CPU time; waits are all there.
struct StackSample {
  ThreadId thread{};
  StackId stack{};  ///< none: the stack could not be read
  std::uint32_t cpu = 0;
  std::int64_t time_ns = 0;
  std::int64_t blocked_ns = 0;  ///< the thread waited in that stack for so long before
  /// In rows of its own: a sum of the thread's waits before, whose stacks were not taken. This is their likely stack,
  /// as that of waits about as long; none if there were no such waits.
  std::int64_t unsampled_ns = 0;
  std::uint32_t sampled_waits = 0;  ///< from how many waits the likely stack is known; docs/format.md

  /// Else the thread was on the CPU.
  [[nodiscard]] bool is_wait() const { return blocked_ns > 0 || unsampled_ns > 0; }
  /// What the row counts for, if it is a wait. Of damaged captures the parts may be negative; they count as 0.
  [[nodiscard]] std::uint64_t waited_ns() const {
    return static_cast<std::uint64_t>(blocked_ns > 0 ? blocked_ns : 0) +
           static_cast<std::uint64_t>(unsampled_ns > 0 ? unsampled_ns : 0);
  }
};

/// A text at a moment of a track.
struct Message {
  TrackId track{};
  bool is_cut = false;
  std::int64_t time_ns = 0;
  std::string text;
};

/// Where a flow event stands in its flow.
enum class FlowPhase : std::uint8_t { begin = 0, step = 1, end = 2 };

/// One point of a flow. It leaves, passes or enters the scope open on the track at that time.
struct FlowEvent {
  TrackId track{};
  FlowPhase phase = FlowPhase::begin;
  std::int64_t time_ns = 0;
  std::uint64_t flow_id = 0;
};

/// A numbered mark. The interval up to the next one is a phase.
struct SyncPoint {
  std::uint64_t number = 0;
  TrackId track{};
  std::int64_t time_ns = 0;
};

/// A thread ended; the recorder closed the scopes still open on its track.
struct TrackEnd {
  TrackId track{};
  std::int64_t time_ns = 0;
};

/// The wall clock at one moment, read between two reads of CLOCK_MONOTONIC that were bound_ns apart.
struct ClockAnchor {
  std::int64_t monotonic_ns = 0;
  std::int64_t realtime_ns = 0;
  std::int64_t bound_ns = 0;
};

/// An interval in which the conversion from counter to nanoseconds is off by up to bound_ns: a clock was stepped, or
/// its rate changed too fast for the recorder to follow exactly.
struct ClockUncertainty {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t bound_ns = 0;
};

/// All events drained in one interval; one block of a capture.
///
/// An id in the events was declared in this batch or in an earlier one.
struct EventBatch {
  std::int64_t start_ns = 0;  ///< no event of the batch is earlier, including spans and async begins handed in late
  std::int64_t end_ns = 0;    ///< no event is later
  bool follows_loss = false;  ///< read from a capture that lacks events before it: of a flight recorder, or damaged
  Declarations declarations;
  std::vector<ScopeRun> runs;  ///< one per active track, and one without events per idle track with open scopes
  std::vector<SpanEvent> spans;
  std::vector<ArgumentValue> span_arguments;
  std::vector<AsyncBegin> async_begins;
  std::vector<FrameMark> frame_marks;  ///< of each stream by ascending time
  std::vector<SampleRun> samples;
  std::vector<StateRun> states;
  std::vector<ThreadWake> wakes;
  std::vector<StackSample> stack_samples;
  std::vector<Message> messages;
  std::vector<FlowEvent> flows;
  std::vector<SyncPoint> sync_points;
  std::vector<TrackEnd> track_ends;
  std::vector<ClockAnchor> clock_anchors;
  std::vector<ClockUncertainty> clock_uncertainties;
  std::string text;  ///< bytes of string arguments
};

}  // namespace kymo
