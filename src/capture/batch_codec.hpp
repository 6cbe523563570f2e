// Batches: the payload of an events block. A SCOPES table a run (scopes_codec.hpp), a SAMPLES table a metric, one table
// for each other vector of EventBatch that is not empty, and those of the declarations (declarations_codec.hpp).
// Times stand less the block's start.
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
#pragma once

#include <span>

#include <kymo/capture.hpp>
#include <kymo/events.hpp>

#include "capture/scopes_codec.hpp"
#include "capture/table.hpp"

namespace kymo::capture {

/// Codes batches into payloads; keeps its scratch memory. One thread at a time.
class BatchEncoder {
 public:
  explicit BatchEncoder(Packing packing) : packing_(packing), scopes_(packing) {}

  /// Replaces `payload` by the tables of the batch's events, its declarations left out: they have blocks of their own.
  /// std::length_error where it is too large for one block.
  void encode(const EventBatch& batch, ByteBuffer& payload);

  /// Where to cut the payload that was encoded last (TableWriter::cuts), counted from its begin.
  [[nodiscard]] const std::vector<std::size_t>& cuts() const { return cuts_; }
  /// Opens in each run of the batch that was encoded last.
  [[nodiscard]] const std::vector<std::uint64_t>& opens() const { return opens_; }

 private:
  Packing packing_;
  ScopesEncoder scopes_;
  ArgumentsEncoder arguments_;
  std::vector<std::uint64_t> opens_;
  std::vector<std::size_t> cuts_;
};

/// Decodes a payload that stands in a BlockPayload into `batch`, reusing its memory; what is not asked for is empty.
/// DecodeError for anything that no writer would write; `batch` holds anything then. `most_values`: in tables of all
/// but scopes, which whoever gathers rows of many blocks keeps. Thread safe.
void decode_batch(std::span<const std::byte> payload, std::int64_t start_ns, std::int64_t end_ns, BatchParts parts,
                  EventBatch& batch, std::uint64_t most_values = max_payload_cost);

}  // namespace kymo::capture
