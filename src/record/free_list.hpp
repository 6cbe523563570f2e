// A lock-free stack of the chunks that nobody has, linked by their numbers. Templates over the atomics, so that a test
// can run them under every interleaving that the memory model permits.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::record {

/// In place of a chunk's index + 1.
inline constexpr std::uint32_t no_chunk = 0;

/// The head is   [ tag : 32 bits ][ index + 1 of the top : 32 bits ].  The tag counts changes: a head that was taken
/// and given back since it was read differs from the one that was read.
inline constexpr std::uint64_t free_head_tag = std::uint64_t{1} << 32U;

[[nodiscard]] constexpr std::uint64_t next_free_head(std::uint64_t head, std::uint32_t top) noexcept {
  return ((head & ~(free_head_tag - 1)) + free_head_tag) | top;
}

/// Takes the top: its index + 1, or no_chunk. `link_of(index)` is the atomic that holds index + 1 of the one below it.
/// What was written before it was pushed has happened before this returns. Async-signal-safe.
template <typename Head, typename LinkOf>
[[nodiscard]] std::uint32_t pop_free(Head& head, const LinkOf& link_of) noexcept {
  std::uint64_t seen = head.load(std::memory_order_acquire);
  for (;;) {
    const auto top = static_cast<std::uint32_t>(seen);
    if (top == no_chunk) {
      return no_chunk;
    }
    // Another thread may have the top by now, and its link be another: the head has moved on then.
    const std::uint32_t below = link_of(top - 1).load(std::memory_order_relaxed);
    if (head.compare_exchange_weak(seen, next_free_head(seen, below), std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      return top;
    }
  }
}

/// Puts one on top. Async-signal-safe.
template <typename Head, typename LinkOf>
void push_free(Head& head, const LinkOf& link_of, std::uint32_t index) noexcept {
  std::uint64_t seen = head.load(std::memory_order_relaxed);
  do {
    link_of(index).store(static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
  } while (!head.compare_exchange_weak(seen, next_free_head(seen, index + 1), std::memory_order_acq_rel,
                                       std::memory_order_relaxed));
}

}  // namespace kymo::record
