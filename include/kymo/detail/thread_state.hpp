// What a recording thread touches: its state, and the 8-byte words it writes into its chunk.
//
// A word is   [ time since the chunk's time base : 44 bits ][ tag : 20 bits ].
// Tag bit 0 set:   a scope opens; bits 1..19 are its site.
// Tag bit 0 clear: bits 1..5 are a WordKind, bits 6..19 its 14-bit operand.
// Some kinds are followed by words that hold plain values.
//
// The state and the chunks lie in the pool, which is shared memory: what was published before a kill can be read after
// it.
#pragma once

#include <atomic>
#include <cstdint>

#include <kymo/export.hpp>

namespace kymo::detail {

inline constexpr unsigned time_shift = 20;
inline constexpr unsigned time_bits = 44;
inline constexpr std::uint32_t max_site = (1U << 19U) - 1;
inline constexpr std::uint32_t max_operand = (1U << 14U) - 1;

enum class WordKind : std::uint32_t {
  none = 0,       ///< never written: a word of zeros is damage
  close = 1,      ///< operand: the depth of the scope that closes
  argument = 2,   ///< the time field is the argument's name; operand: type | size of a string << 4; the value follows
  time_base = 3,  ///< one word follows: the counter value that later words' times count from
  event = 4,      ///< operand: how many words follow; the first of them begins with an EventKind
};

/// A reserve this large makes every room check fail, so that a signal handler which interrupts a write takes the slow
/// path, finds the state busy and counts its scope as dropped.
inline constexpr std::uint64_t busy_reserve = std::uint64_t{1} << 40U;

/// No dropped scope is open on the thread.
inline constexpr std::uint64_t nothing_dropped = ~std::uint64_t{0};

/// The words of one recording thread. Only that thread writes the first cache line; the collector reads `cursor`.
struct alignas(128) ThreadState {
  std::atomic<std::uint64_t*> cursor{nullptr};  ///< next free word; everything before it is published
  std::uint64_t* end = nullptr;                 ///< one past the chunk's last word
  std::uint64_t reserve = 0;    ///< words kept free for the closes of open scopes = how many scopes are open
  std::uint64_t time_base = 0;  ///< counter value that the times of new words count from
  std::uint64_t dropped_at = nothing_dropped;  ///< value of `reserve` when the innermost dropped scope opened
};

static_assert(sizeof(std::atomic<std::uint64_t*>) == sizeof(std::uint64_t*) &&
              std::atomic<std::uint64_t*>::is_always_lock_free);

KYMO_SKIP
constexpr std::uint64_t open_tag(std::uint32_t site) {
  return (std::uint64_t{site} << 1U) | 1U;
}

KYMO_SKIP
constexpr std::uint64_t kind_tag(WordKind kind, std::uint64_t operand) {
  return (static_cast<std::uint64_t>(kind) << 1U) | (operand << 6U);
}

/// Orders plain accesses of this thread against a signal handler of the same thread. Costs no instruction.
KYMO_SKIP
inline void signal_fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace kymo::detail

// Reached by an offset that is known when the library is loaded, without a call. musl has no room for such variables of
// libraries that are loaded later, as Python's extensions are.
#ifdef __GLIBC__
#define KYMO_STATIC_TLS __attribute__((tls_model("initial-exec")))
#else
#define KYMO_STATIC_TLS
#endif

extern "C" {
/// The calling thread's state; null until its first event, and again in a child after fork.
/// `__thread` and not `thread_local`: no wrapper function is called to reach it.
KYMO_API extern __thread kymo::detail::ThreadState* kymo_thread_v1 KYMO_STATIC_TLS;

/// Not zero while scopes are recorded.
KYMO_API extern std::atomic<std::uint32_t> kymo_scopes_on_v1;
}
