// Spans that are not scopes: async spans, spans measured elsewhere, and flows that join them. Messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <kymo/argument.hpp>
#include <kymo/detail/chrono.hpp>
#include <kymo/export.hpp>
#include <kymo/ids.hpp>

namespace kymo {

/// Returns the track of that name, created on first use: a lane of async spans, or a queue such as a GPU's. 0 while
/// nothing is recorded. Looks the name up by content, about 20 ns.
[[nodiscard]] KYMO_API TrackId track(std::string_view name, TrackKind kind = TrackKind::queue) noexcept;

/// A span that may begin on one thread and end on another, or live across a co_await. Spans of one lane may overlap.
///
/// Not thread-safe. Ends at the latest when the object is destroyed.
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

/// Records a completed span with times of CLOCK_MONOTONIC. A negative duration becomes zero. At most 16 arguments.
/// About 60 ns.
KYMO_API void emit_span(TrackId track, std::string_view name, std::string_view category, std::chrono::nanoseconds start,
                        std::chrono::nanoseconds duration, std::initializer_list<Argument> arguments = {}) noexcept;

/// The same, with a number of arguments known at run time only.
KYMO_API void emit_span(TrackId track, std::string_view name, std::string_view category, std::chrono::nanoseconds start,
                        std::chrono::nanoseconds duration, const Argument* arguments, std::size_t count) noexcept;

/// The same, with times in ticks of a device's clock.
KYMO_API void emit_span(const ClockDomain& domain, TrackId track, std::string_view name, std::string_view category,
                        std::uint64_t start_ticks, std::uint64_t duration_ticks,
                        std::initializer_list<Argument> arguments = {}) noexcept;

/// A flow leaves, passes or enters the scope open on this thread. All points with one id form one flow.
KYMO_API void flow_begin(std::uint64_t flow_id) noexcept;
KYMO_API void flow_step(std::uint64_t flow_id) noexcept;
KYMO_API void flow_end(std::uint64_t flow_id) noexcept;

/// The same for emitted spans: the point belongs to the innermost span on the track at `time`, in CLOCK_MONOTONIC. The
/// span may be emitted before or after the point. Ignored on track 0. About 20 ns.
KYMO_API void flow_begin(std::uint64_t flow_id, TrackId track, std::chrono::nanoseconds time) noexcept;
KYMO_API void flow_step(std::uint64_t flow_id, TrackId track, std::chrono::nanoseconds time) noexcept;
KYMO_API void flow_end(std::uint64_t flow_id, TrackId track, std::chrono::nanoseconds time) noexcept;

/// Records a text at the current time. Cut at 4,096 bytes and marked as cut.
KYMO_API void message(std::string_view text) noexcept;

}  // namespace kymo
