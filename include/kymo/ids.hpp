// Ids: small numbers that stand for declared things in events.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo {

/// The kinds of declared things.
enum class IdKind : std::uint8_t { process, name, module, site, track, metric, frame_stream, thread, function, stack };
constexpr std::size_t id_kinds = 10;

/// The id of a declared thing. Ids of each kind count from 1 within one capture or timeline; 0 means "none" and is
/// false. Ids of different kinds do not convert into each other, and ids and integers only explicitly. Costs what an
/// integer costs.
template <IdKind of_kind>
class Id {
 public:
  static constexpr IdKind kind = of_kind;

  constexpr Id() noexcept = default;
  constexpr explicit Id(std::uint32_t value) noexcept : value_(value) {}
  /// The id of the thing at an index, where ids are consecutive: `index` + 1.
  [[nodiscard]] static constexpr Id from_index(std::size_t index) noexcept {
    return Id(static_cast<std::uint32_t>(index + 1));
  }

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }
  /// The index of the thing, where ids are consecutive: `value()` - 1. Beyond every index for "none".
  [[nodiscard]] constexpr std::size_t index() const noexcept { return std::size_t{value_} - 1; }
  constexpr explicit operator bool() const noexcept { return value_ != 0; }

  friend constexpr bool operator==(Id a, Id b) noexcept { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Id a, Id b) noexcept { return a.value_ != b.value_; }
  friend constexpr bool operator<(Id a, Id b) noexcept { return a.value_ < b.value_; }

 private:
  std::uint32_t value_ = 0;
};

using SiteId = Id<IdKind::site>;
using NameId = Id<IdKind::name>;
using TrackId = Id<IdKind::track>;
using MetricId = Id<IdKind::metric>;
using FrameStreamId = Id<IdKind::frame_stream>;
using ModuleId = Id<IdKind::module>;
using ProcessId = Id<IdKind::process>;
using ThreadId = Id<IdKind::thread>;  ///< of a thread that was observed from outside, not the kernel's
using FunctionId = Id<IdKind::function>;
using StackId = Id<IdKind::stack>;

/// Contents of a track.
enum class TrackKind : std::uint8_t {
  thread = 0,  ///< a thread of the process
  async = 1,   ///< a lane of async spans
  queue = 2,   ///< a GPU queue or another lane filled by emit_span
};

/// Special use of a track. Readers that do not know a role treat the track by its kind alone.
enum class TrackRole : std::uint8_t {
  plain = 0,
  fiber = 1,  ///< kind thread: a fiber, which moves between threads
  lock = 2,   ///< kind async: the holders of a lock
};

/// What a thread does in a stretch of time.
enum class RunState : std::uint8_t {
  running = 0,   ///< on a CPU
  runnable = 1,  ///< pushed off its CPU, or not yet on one: it could run
  blocked = 2,   ///< waits; from its last instruction to its next, so a wait for a CPU after the wake-up is part of it
};

/// Interpretation of a metric's values.
enum class MetricKind : std::uint8_t {
  gauge = 0,           ///< each value stands for itself
  counter = 1,         ///< a running total; a smaller value means that it restarted
  energy_counter = 2,  ///< a running total in joules
};

}  // namespace kymo
