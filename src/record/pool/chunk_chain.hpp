// How a track continues from chunk to chunk, and how much of a chunk the collector may read. Templates over the
// atomics, so that a test can run them under every interleaving that the memory model permits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace kymo::record {

/// The recording thread's side. Appends `fresh`, whose header is filled in, after `last`, or as the first chunk if that
/// is null. The cursor moves last: a reader that sees it in a chunk also sees the links to that chunk.
template <typename Slot, typename Chunk>
void continue_in(Slot& slot, Chunk* last, Chunk& fresh, std::uint32_t index) noexcept {
  if (last != nullptr) {
    last->header.next.store(index + 1, std::memory_order_release);
  }
  slot.cursor.store(fresh.words, std::memory_order_release);
  if (last == nullptr) {
    slot.first_chunk.store(index + 1, std::memory_order_release);
  }
}

struct ReadableWords {
  std::size_t end = 0;     ///< readable words end here
  bool is_last = false;    ///< the thread was writing into this chunk
  std::uint32_t next = 0;  ///< if it is not the last: index + 1 of the next
};

/// The readable part of a chunk on the way to `published`, a value of the track's cursor loaded with acquire.
template <typename Chunk, typename Cursor>
[[nodiscard]] ReadableWords readable_words(const Chunk& chunk, Cursor published, std::size_t capacity) noexcept {
  if (published >= chunk.words && published <= chunk.words + capacity) {
    return {static_cast<std::size_t>(published - chunk.words), true, 0};
  }
  const std::uint32_t next = chunk.header.next.load(std::memory_order_acquire);
  return {chunk.header.used_words, false, next};
}

}  // namespace kymo::record
