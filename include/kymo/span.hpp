// Spans that are not scopes: async spans, spans measured elsewhere, and flows that join them. Messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <kymo/kymo.h>
#include <kymo/argument.hpp>
#include <kymo/export.hpp>
#include <kymo/ids.hpp>
#include <kymo/nanoseconds.hpp>
#include <kymo/text.hpp>

namespace kymo {

/// Returns the track of that name, created on first use: a lane of async spans, or a queue such as a GPU's. 0 while
/// nothing is recorded. Looks the name up by content, about 20 ns.
[[nodiscard]] KYMO_API TrackId track(Text name, TrackKind kind = TrackKind::queue) noexcept;

/// A span that may begin on one thread and end on another, or live across a co_await. Spans of one lane may overlap.
///
/// Not thread-safe. Ends at the latest when the object is destroyed.
class KYMO_API AsyncSpan {
 public:
  AsyncSpan() = default;
  /// Begins now. About 40 ns; 1 ns while nothing is recorded.
  AsyncSpan(Text lane, Text name) noexcept;
  KYMO_SKIP
  AsyncSpan(AsyncSpan&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  AsyncSpan& operator=(AsyncSpan&& other) noexcept;
  AsyncSpan(const AsyncSpan&) = delete;
  AsyncSpan& operator=(const AsyncSpan&) = delete;
  KYMO_SKIP
  ~AsyncSpan() { end(); }

  /// Adds an argument while the span is open.
  void argument(const Argument& argument) noexcept;

  /// Ends now. No effect if it has already ended.
  void end() noexcept;

  [[nodiscard]] KYMO_SKIP
  bool is_open() const noexcept { return id_ != 0; }

  /// release() gives up the span without ending it; adopt() takes it over again. For owners that can only store a
  /// number. 0 is never the id of a span.
  [[nodiscard]] KYMO_SKIP
  std::uint64_t release() noexcept {
    const std::uint64_t id = id_;
    id_ = 0;
    return id;
  }
  [[nodiscard]] KYMO_SKIP
  static AsyncSpan adopt(std::uint64_t id) noexcept {
    AsyncSpan span;
    span.id_ = id;
    return span;
  }

 private:
  std::uint64_t id_ = 0;
};

/// The clock of a device. Converts its ticks to nanoseconds of CLOCK_MONOTONIC with the two latest pairs it was given.
class KYMO_API ClockDomain {
 public:
  /// Sets the tick length that is used until two pairs give a better one.
  KYMO_SKIP
  explicit ClockDomain(double nanoseconds_per_tick) noexcept : step_ns_(nanoseconds_per_tick) {}

  /// The device's clock showed `ticks` when CLOCK_MONOTONIC showed `monotonic_ns`. Pairs that go back are ignored.
  void add_pair(std::uint64_t ticks, std::int64_t monotonic_ns) noexcept;

  /// The time of a tick; 0 before the first pair.
  [[nodiscard]] std::int64_t to_monotonic_ns(std::uint64_t ticks) const noexcept;

 private:
  double step_ns_;
  std::uint64_t ticks_ = 0;
  std::int64_t monotonic_ns_ = 0;
  bool has_pair_ = false;
};

namespace detail {
KYMO_API void emit_span(TrackId track, Text name, Text category, std::int64_t start_ns, std::int64_t duration_ns,
                        const Argument* arguments, std::size_t count) noexcept;
}  // namespace detail

/// Records a completed span with times of CLOCK_MONOTONIC; the number of arguments may be known at run time only. A
/// negative duration becomes zero. At most 16 arguments. About 60 ns.
KYMO_SKIP
inline void emit_span(TrackId track, Text name, Text category, Nanoseconds start, Nanoseconds duration,
                      const Argument* arguments, std::size_t count) noexcept {
  detail::emit_span(track, name, category, start.count(), duration.count(), arguments, count);
}

/// The same, with a list of arguments.
KYMO_SKIP
inline void emit_span(TrackId track, Text name, Text category, Nanoseconds start, Nanoseconds duration,
                      std::initializer_list<Argument> arguments = {}) noexcept {
  detail::emit_span(track, name, category, start.count(), duration.count(), arguments.begin(), arguments.size());
}

/// The same, with times in ticks of a device's clock.
KYMO_SKIP
inline void emit_span(const ClockDomain& domain, TrackId track, Text name, Text category, std::uint64_t start_ticks,
                      std::uint64_t duration_ticks, std::initializer_list<Argument> arguments = {}) noexcept {
  const std::int64_t start_ns = domain.to_monotonic_ns(start_ticks);
  const std::int64_t end_ns = domain.to_monotonic_ns(start_ticks + duration_ticks);
  detail::emit_span(track, name, category, start_ns, end_ns - start_ns, arguments.begin(), arguments.size());
}

/// A flow leaves, passes or enters the scope open on this thread. All points with one id form one flow.
KYMO_API void flow_begin(std::uint64_t flow_id) noexcept;
KYMO_API void flow_step(std::uint64_t flow_id) noexcept;
KYMO_API void flow_end(std::uint64_t flow_id) noexcept;

/// The same for emitted spans: the point belongs to the innermost span on the track at `time`, in CLOCK_MONOTONIC. The
/// span may be emitted before or after the point. Ignored on track 0. About 20 ns.
KYMO_SKIP
inline void flow_begin(std::uint64_t flow_id, TrackId track, Nanoseconds time) noexcept {
  kymo_flow_at(track.value(), time.count(), flow_id, KYMO_FLOW_BEGIN);
}
KYMO_SKIP
inline void flow_step(std::uint64_t flow_id, TrackId track, Nanoseconds time) noexcept {
  kymo_flow_at(track.value(), time.count(), flow_id, KYMO_FLOW_STEP);
}
KYMO_SKIP
inline void flow_end(std::uint64_t flow_id, TrackId track, Nanoseconds time) noexcept {
  kymo_flow_at(track.value(), time.count(), flow_id, KYMO_FLOW_END);
}

/// Records a text at the current time. Cut at 4,096 bytes and marked as cut.
KYMO_API void message(Text text) noexcept;

}  // namespace kymo
