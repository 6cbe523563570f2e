// The memory that a recording thread touches: its state, and the 8-byte words in its chunk.
//
// A word is   [ time since the chunk's time base : 44 bits ][ tag : 20 bits ].
// Tag bit 0 set:   a scope opens; bits 1..19 are its site.
// Tag bit 0 clear: bits 1..5 are a WordKind, bits 6..19 its 14-bit operand.
// Some kinds are followed by words with plain values.
//
// State and chunks are in the pool, which is shared memory: words published before a kill can be read afterwards.
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
  close = 1,      ///< operand: depth of the closing scope
  argument = 2,   ///< time field: the argument's name; operand: type | string size << 4; the value follows
  time_base = 3,  ///< one word follows: the counter value that later words' times count from
  event = 4,      ///< operand: number of words that follow; the first begins with an EventKind
};

/// The state of one recording thread. Only that thread writes the first cache line; the collector reads `cursor`.
///
/// The key combines the owner of the state and the thread's position in it, so that one comparison checks both:
///
///   [ 0, or 0x80 while busy : 8 ][ generation : 24 ][ muted depth : 16 ][ depth : 16 ]
///
/// Generations are unique among the threads of a process and its forked children, until 2^24 have been assigned. The
/// depth is the number of open scopes, and of words reserved for their closes. The muted depth is the depth at which
/// the innermost left-out or dropped scope was opened. Arguments are accepted if the two depths differ.
///
/// The state is busy while a word is written. Only the highest byte says so; the rest stays readable. A write that is
/// never resumed (siglongjmp out of a signal handler) can thus be repaired.
struct alignas(128) ThreadState {
  std::atomic<std::uint64_t*> cursor{nullptr};  ///< next free word; everything before it is published
  std::uint64_t* end = nullptr;                 ///< one past the chunk's last word
  std::uint64_t key = std::uint64_t{1} << 63U;  ///< busy
  std::uint64_t time_base = 0;                  ///< counter value that the times of new words count from
};

static_assert(sizeof(std::atomic<std::uint64_t*>) == sizeof(std::uint64_t*) &&
              std::atomic<std::uint64_t*>::is_always_lock_free);

inline constexpr std::uint64_t busy_bit = std::uint64_t{1} << 63U;
inline constexpr std::uint64_t depth_mask = 0xFFFF;
inline constexpr unsigned muted_shift = 16;
inline constexpr unsigned generation_shift = 32;
inline constexpr std::uint32_t generation_mask = 0xFFFFFF;

KYMO_SKIP
constexpr std::uint64_t first_key(std::uint32_t generation) {
  return std::uint64_t{generation & generation_mask} << generation_shift;
}

KYMO_SKIP
constexpr bool is_free(std::uint64_t key) {
  return (key & busy_bit) == 0;
}

KYMO_SKIP
constexpr std::uint32_t generation_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(key >> generation_shift) & generation_mask;
}

KYMO_SKIP
constexpr std::uint64_t depth_of(std::uint64_t key) {
  return key & depth_mask;
}

/// Whether an argument recorded under this key belongs to a recorded scope.
KYMO_SKIP
constexpr bool takes_arguments(std::uint64_t key) {
  return ((key >> muted_shift) & depth_mask) != depth_of(key);
}

/// The same key with the innermost scope taking no arguments.
KYMO_SKIP
constexpr std::uint64_t muted(std::uint64_t key) {
  return (key & ~(depth_mask << muted_shift)) | (depth_of(key) << muted_shift);
}

/// Marks a state busy. A signal handler that interrupts the following code sees this and counts its scope as dropped.
KYMO_SKIP
inline void make_busy(ThreadState& state) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  // One byte: the shortest store possible.
  reinterpret_cast<volatile unsigned char*>(&state.key)[sizeof state.key - 1] = busy_bit >> 56U;
#else
  state.key |= busy_bit;
#endif
}

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

// Accessed by an offset fixed when the library is loaded, without a call. musl has no room for such variables in
// libraries that are loaded later, such as Python extensions.
#ifdef __GLIBC__
#define KYMO_STATIC_TLS __attribute__((tls_model("initial-exec")))
#else
#define KYMO_STATIC_TLS
#endif

extern "C" {
/// The calling thread's state. Before its first event, and again in a child after fork, it points to a shared dummy
/// state that is always busy. `__thread` instead of `thread_local` avoids a wrapper function.
KYMO_API extern __thread kymo::detail::ThreadState* kymo_thread_v2 KYMO_STATIC_TLS;

/// Nonzero while scopes are recorded.
KYMO_API extern std::atomic<std::uint32_t> kymo_scopes_on_v1;
}
