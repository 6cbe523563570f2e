// Batches: the payload of an events block. It holds
//
// - a SCOPES table per run (scopes_codec.hpp),
// - a SAMPLES table per metric,
// - a THREAD_STATES table per thread,
// - one table for each other non-empty vector of EventBatch,
// - the tables of the declarations (declarations_codec.hpp).
//
// Times are relative to the block's start.
//
//   SPANS                1 start (wandering), 2 duration (zigzag), 3 track, 4 name, 5 category, 6 number of arguments,
//                        7 first argument (wandering), 8 async id (wandering)
//   SPAN_ARGUMENTS       1..6 the arguments (arguments_codec.hpp)
//   ASYNC_BEGINS         1 time (wandering), 2 track, 3 name, 4 async id (wandering)
//   FRAME_MARKS          1 time (wandering), 2 stream, 3 track
//   SAMPLES key metric   1 time (wandering), 2 value (floats)
//   MESSAGES             1 text, 2 time (wandering), 3 track, 4 whether it was cut
//   FLOWS                1 time (wandering), 2 track, 3 phase, 4 flow id (wandering)
//   SYNC_POINTS          1 time (wandering), 2 track, 3 number (wandering)
//   TRACK_ENDS           1 time (wandering), 2 track
//   CLOCK_ANCHORS        1 monotonic time (wandering), 2 wall clock (not relative; wandering), 3 bound (zigzag)
//   CLOCK_UNCERTAINTIES  1 start (wandering), 2 end (wandering), 3 bound (zigzag)
//   TEXT                 1 bytes
//   THREAD_STATES key thread  1 duration, 2 start less the end of the row before, the first relative (zigzag), 3 state, 4 CPU
//   STACK_SAMPLES        1 time (wandering), 2 thread, 3 stack (wandering), 4 CPU
#pragma once

#include <span>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

#include "capture/format/scopes_codec.hpp"
#include "capture/format/table.hpp"

namespace kymo::capture {

/// Encodes batches into payloads; keeps its scratch memory. Not thread-safe.
class BatchEncoder {
 public:
  explicit BatchEncoder(Packing packing) : packing_(packing), scopes_(packing) {}

  /// Replaces `payload` by the tables of the batch's events, without its declarations, which have their own blocks.
  /// Throws std::length_error if the result is too large for one block.
  void encode(const EventBatch& batch, ByteBuffer& payload);

  /// Offsets at which to cut the payload encoded last (TableWriter::cuts), from its beginning.
  [[nodiscard]] const std::vector<std::size_t>& cuts() const { return cuts_; }
  /// Number of opens in each run of the batch encoded last.
  [[nodiscard]] const std::vector<std::uint64_t>& opens() const { return opens_; }

 private:
  void encode_span_arguments(const std::vector<ArgumentValue>& arguments, TableWriter& table);

  Packing packing_;
  ScopesEncoder scopes_;
  ArgumentsEncoder arguments_;
  std::vector<std::uint64_t> opens_;
  std::vector<std::size_t> cuts_;
};

/// Decodes a payload in a BlockPayload into `batch`, reusing its memory; parts not requested stay empty. Throws
/// DecodeError for anything that no writer produces; the content of `batch` is then undefined. `most_values` limits all
/// tables except scopes, for callers that keep rows of many blocks. Thread-safe.
void decode_batch(std::span<const std::byte> payload, std::int64_t start_ns, std::int64_t end_ns, BatchParts parts,
                  EventBatch& batch, std::uint64_t most_values = max_payload_cost);

}  // namespace kymo::capture
