// Spans that are not scopes: async spans, work measured elsewhere, and the flows that join them. Messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <kymo/argument.hpp>
#include <kymo/export.hpp>
#include <kymo/ids.hpp>

namespace kymo {

/// The track of that name, made on first use: a lane of async spans or a queue such as a GPU's. 0 while nothing is
/// recorded. Costs a look-up by content, about 20 ns.
[[nodiscard]] KYMO_API TrackId track(std::string_view name, TrackKind kind = TrackKind::queue) noexcept;

/// A span that may begin on one thread and end on another, or live across a co_await. Spans of one lane may overlap.
///
/// One object is used by one thread at a time. Ends when it is destroyed, at the latest.
class KYMO_API AsyncSpan {
 public:
  AsyncSpan() = default;
  /// Begins now. About 40 ns; 1 ns while nothing is recorded.
  AsyncSpan(std::string_view lane, std::string_view name) noexcept;
  KYMO_SKIP
  AsyncSpan(AsyncSpan&& other) noexcept : id_(other.id_) { other.id_ = 0; }
  AsyncSpan& operator=(AsyncSpan&& other) noexcept;
  AsyncSpan(const AsyncSpan&) = delete;
  AsyncSpan& operator=(const AsyncSpan&) = delete;
  KYMO_SKIP
  ~AsyncSpan() { end(); }

  /// Adds an argument while the span is open.
  void argument(const Argument& argument) noexcept;

  /// Ends now. Does nothing when it has ended.
  void end() noexcept;

  [[nodiscard]] KYMO_SKIP
  bool is_open() const noexcept { return id_ != 0; }

  /// Lets go of the span without ending it, and takes it up again: for owners that can only keep a number. The id of no
  /// span is 0.
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

/// The clock of a device: turns its ticks into nanoseconds of CLOCK_MONOTONIC by the two latest pairs it was given.
class KYMO_API ClockDomain {
 public:
  /// A clock whose ticks last this long, until pairs tell better.
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

/// Hands in a span after the fact, with times of CLOCK_MONOTONIC. A negative duration is taken as zero. At most 16
/// arguments. About 60 ns.
KYMO_API void emit_span(TrackId track, std::string_view name, std::string_view category, std::chrono::nanoseconds start,
                        std::chrono::nanoseconds duration, std::initializer_list<Argument> arguments = {}) noexcept;

/// The same where the number of arguments is known at run time only.
KYMO_API void emit_span(TrackId track, std::string_view name, std::string_view category, std::chrono::nanoseconds start,
                        std::chrono::nanoseconds duration, const Argument* arguments, std::size_t count) noexcept;

/// The same with times in ticks of a device's clock.
KYMO_API void emit_span(const ClockDomain& domain, TrackId track, std::string_view name, std::string_view category,
                        std::uint64_t start_ticks, std::uint64_t duration_ticks,
                        std::initializer_list<Argument> arguments = {}) noexcept;

/// A flow leaves, passes or enters the scope that is open on this thread. All points with one id are one flow.
KYMO_API void flow_begin(std::uint64_t flow_id) noexcept;
KYMO_API void flow_step(std::uint64_t flow_id) noexcept;
KYMO_API void flow_end(std::uint64_t flow_id) noexcept;

/// The same for spans that are handed in: the point is on the innermost span that the track has at `time`, which is one
/// of CLOCK_MONOTONIC. The span may be handed in before or after it. Ignored on track 0. About 20 ns.
KYMO_API void flow_begin(std::uint64_t flow_id, TrackId track, std::chrono::nanoseconds time) noexcept;
KYMO_API void flow_step(std::uint64_t flow_id, TrackId track, std::chrono::nanoseconds time) noexcept;
KYMO_API void flow_end(std::uint64_t flow_id, TrackId track, std::chrono::nanoseconds time) noexcept;

/// Records a text at this moment. Cut at 4,096 bytes, with a mark.
KYMO_API void message(std::string_view text) noexcept;

}  // namespace kymo
