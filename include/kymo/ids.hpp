// The small numbers that stand for declared things: what events carry instead of names.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo {

/// Ids count from 1 within one capture; 0 means "none".
using SiteId = std::uint32_t;
using NameId = std::uint32_t;
using TrackId = std::uint32_t;
using MetricId = std::uint32_t;
using FrameStreamId = std::uint32_t;
using ModuleId = std::uint32_t;
using ProcessId = std::uint32_t;

/// What fills a track.
enum class TrackKind : std::uint8_t {
  thread = 0,  ///< a thread of the process
  async = 1,   ///< a lane of async spans
  queue = 2,   ///< a GPU queue or another lane filled by emit_span
};

/// What a track of its kind is there for. Readers that do not know it take the kind alone.
enum class TrackRole : std::uint8_t {
  plain = 0,
  fiber = 1,  ///< kind thread: a fiber, which moves between threads
  lock = 2,   ///< kind async: who held a lock
};

/// How the values of a metric are to be read.
enum class MetricKind : std::uint8_t {
  gauge = 0,           ///< each value stands for itself
  counter = 1,         ///< a total that only grows; a smaller value is a new beginning
  energy_counter = 2,  ///< a total in joules
};

/// How tables call the tracks of a kind and a role: "thread", "fiber", "async", "lock", "queue".
[[nodiscard]] constexpr std::string_view name_of(TrackKind kind, TrackRole role) noexcept {
  if (role != TrackRole::plain) {
    return role == TrackRole::fiber ? "fiber" : "lock";
  }
  switch (kind) {
    case TrackKind::thread:
      break;
    case TrackKind::async:
      return "async";
    case TrackKind::queue:
      return "queue";
  }
  return "thread";
}

/// How tables call a kind of metrics: "gauge", "counter", "energy_counter".
[[nodiscard]] constexpr std::string_view name_of(MetricKind kind) noexcept {
  switch (kind) {
    case MetricKind::gauge:
      break;
    case MetricKind::counter:
      return "counter";
    case MetricKind::energy_counter:
      return "energy_counter";
  }
  return "gauge";
}

}  // namespace kymo
