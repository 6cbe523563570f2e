// A lock-free stack of free chunks, linked by their numbers. Templates over the atomics, so that a test can run them
// under every interleaving that the memory model permits.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::record {

/// Stands for the missing index + 1 of a chunk.
inline constexpr std::uint32_t no_chunk = 0;

/// The head is   [ tag : 32 bits ][ index + 1 of the top : 32 bits ].  The tag counts changes, so a head that was
/// popped and pushed back meanwhile differs from the one that was read (no ABA).
inline constexpr std::uint64_t free_head_tag = std::uint64_t{1} << 32U;

[[nodiscard]] constexpr std::uint64_t next_free_head(std::uint64_t head, std::uint32_t top) noexcept {
  return ((head & ~(free_head_tag - 1)) + free_head_tag) | top;
}

/// Pops the top: its index + 1, or no_chunk. `link_of(index)` is the atomic with the index + 1 of the chunk below.
/// Writes before the push happen before the return of this call. Async-signal-safe.
template <typename Head, typename LinkOf>
[[nodiscard]] std::uint32_t pop_free(Head& head, const LinkOf& link_of) noexcept {
  std::uint64_t seen = head.load(std::memory_order_acquire);
  for (;;) {
    const auto top = static_cast<std::uint32_t>(seen);
    if (top == no_chunk) {
      return no_chunk;
    }
    // Another thread may own the top by now and have changed its link; the head has changed then, and the exchange
    // fails.
    const std::uint32_t below = link_of(top - 1).load(std::memory_order_relaxed);
    if (head.compare_exchange_weak(seen, next_free_head(seen, below), std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      return top;
    }
  }
}

/// Pushes a chunk. Async-signal-safe.
template <typename Head, typename LinkOf>
void push_free(Head& head, const LinkOf& link_of, std::uint32_t index) noexcept {
  std::uint64_t seen = head.load(std::memory_order_relaxed);
  do {
    link_of(index).store(static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
  } while (!head.compare_exchange_weak(seen, next_free_head(seen, index + 1), std::memory_order_acq_rel,
                                       std::memory_order_relaxed));
}

}  // namespace kymo::record
