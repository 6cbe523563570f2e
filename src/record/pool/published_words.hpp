// The valid part of a chunk, for readers of a spool without its process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "record/pool/spool_layout.hpp"

namespace kymo::record {

/// The published words of a chunk: all up to where its thread moved on, or up to the cursor of its track. `cursor` and
/// `first_word` (the address of the chunk's first word) are addresses in the owner's mapping. Trusts none of them.
[[nodiscard]] inline std::size_t published_words(const ChunkHeader& head, std::uint64_t cursor,
                                                 std::uint64_t first_word, std::size_t capacity) noexcept {
  if (head.next.load(std::memory_order_relaxed) != no_chunk) {
    return std::min<std::size_t>(head.used_words, capacity);
  }
  const std::uint64_t words = (cursor - first_word) / sizeof(std::uint64_t);
  return cursor < first_word || words > capacity ? 0 : static_cast<std::size_t>(words);
}

}  // namespace kymo::record
