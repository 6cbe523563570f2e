// Shared by the collector's source files: its cursor on a track, and a request to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "record/collector/collector.hpp"
#include "record/collector/track_decoder.hpp"

namespace kymo::record {

/// The collector's read position in one track.
struct Collector::TrackCursor {
  explicit TrackCursor(TrackSlot& track_slot)
      : slot(&track_slot), decoder(TrackId{track_slot.track.load(std::memory_order_relaxed)}) {}

  void enter(std::uint32_t index, const Pool& pool) {
    chunk = index;
    offset = 0;
    has_chunk = true;
    const ChunkHeader& header = pool.chunk(index).header;
    decoder.begin_chunk(header.begun_at, header.first_sequence);
  }

  /// Everything before it was read; null before the first chunk.
  [[nodiscard]] const std::uint64_t* position(const Pool& pool) const {
    return has_chunk ? pool.chunk(chunk).words + offset : nullptr;
  }

  /// Events dropped for lack of room leave no other event to report them with.
  [[nodiscard]] bool has_unstated_drops() const {
    return slot->dropped_scopes.load(std::memory_order_relaxed) != dropped_scopes ||
           slot->dropped_others.load(std::memory_order_relaxed) != dropped_others;
  }

  TrackSlot* slot;
  bool has_chunk = false;  ///< the pool may have been empty since the thread began
  std::uint32_t chunk = 0;
  std::size_t offset = 0;
  const std::uint64_t* published = nullptr;  ///< this drain reads everything before it
  bool has_exited = false;                   ///< nothing comes after `published`
  bool is_finished = false;
  bool is_declared = false;          ///< its declaration is final
  bool is_placed = false;            ///< declared by the collector, because its thread had not
  std::uint64_t dropped_scopes = 0;  ///< as last stated in a batch
  std::uint64_t dropped_others = 0;
  TrackDecoder decoder;
};

/// A request from another thread to the collector's. The requester may give up before the answer.
struct Collector::Request {
  enum class Kind { add, remove, remove_all, flush };
  Kind kind = Kind::flush;
  std::shared_ptr<Sink> sink;
  std::uint64_t handle = 0;
  bool is_done = false;
  bool is_granted = false;
  bool is_abandoned = false;
  std::exception_ptr failure;
};

}  // namespace kymo::record
