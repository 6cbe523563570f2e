// Ids: small numbers that stand for declared things in events.
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

/// Interpretation of a metric's values.
enum class MetricKind : std::uint8_t {
  gauge = 0,           ///< each value stands for itself
  counter = 1,         ///< a running total; a smaller value means that it restarted
  energy_counter = 2,  ///< a running total in joules
};

/// Name of a track's kind and role for tables: "thread", "fiber", "async", "lock", "queue".
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

/// Name of a metric kind for tables: "gauge", "counter", "energy_counter".
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
