// The memory that a recording thread touches: its state, and the 8-byte words in its chunk.
//
// A word is   [ count, bits 32..43 : 12 ][ tag : 20 ][ count, bits 0..31 : 32 ]: a hot path stores the counter's two
// halves without putting them together. Readers know the rest of the count from when they last looked.
// Tag bit 0 set:      a scope opens; bits 1..19 are its site.
// Tag bits 0, 1 = 01: a scope closes; bits 2..19 are its depth.
// Tag bits 0, 1 = 00: bits 2..5 are a WordKind, bits 6..19 its 14-bit operand.
// Some kinds are followed by words with plain values.
//
// Chunks and cursors are in the pool, which is shared memory: words published before a kill can be read afterwards. The
// rest of a state is private to its process: the kernel clears it in every forked child, so that no child goes on in
// its parent's chunk.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kymo/detail/shared.hpp>
#include <kymo/export.hpp>

namespace kymo::detail {

inline constexpr unsigned count_bits = 44;
inline constexpr unsigned tag_bits = 20;
inline constexpr unsigned tag_shift = 32;
inline constexpr std::uint32_t max_site = (1U << 19U) - 1;
inline constexpr std::uint32_t max_operand = (1U << 14U) - 1;

/// Its open and its close.
inline constexpr std::uint64_t words_of_a_scope = 2;

enum class WordKind : std::uint32_t {
  none = 0,      ///< never written: a word of zeros is damage
  close = 1,     ///< operand: depth of the closing scope; has tags of its own
  argument = 2,  ///< count: the argument's name; operand: type | string size << 4; the value follows
  event = 4,     ///< operand: number of words that follow; the first begins with an EventKind
};

/// The next free word of a thread's chunk; everything before it is published. In shared memory.
using Cursor = Shared<std::uint64_t*>;

/// The private state of one recording thread. Its cursor is `cursor_distance` behind it: see cursor_of().
///
/// The key combines the owner of the state and the thread's position in it, so that one comparison checks both:
///
///   [ 0, or 0x80 while busy : 8 ][ 0 : 8 ][ generation : 32 ][ depth : 16 ]
///
/// Generations are unique among the threads of a process and its forked children: they are the numbers of tracks. The
/// depth is the number of open scopes, and of words reserved for their closes.
///
/// The state is busy while a word is written. Only the highest byte says so; the rest stays readable. A write that is
/// never resumed (siglongjmp out of a signal handler) can thus be repaired.
///
/// In a forked child everything is 0: the state is free and without room, so the next event takes the slow path, which
/// finds out about the fork.
struct alignas(256) ThreadState {
  std::uint64_t key = std::uint64_t{1} << 63U;  ///< busy
  /// The first place in the chunk without room for a scope. Null where the clock is not the counter: then every write
  /// takes the slow path.
  std::uint64_t* scopes_end = nullptr;
  /// The depth at which the innermost left-out or dropped scope was opened; 0: none, or in no recorded scope. Arguments
  /// that are recorded at this depth belong to no recorded scope.
  std::uint32_t muted_depth = 0;
  /// Before this place, scopes open without a look at how many words their closes need. It lies where half of the words
  /// that are free are used up: an open takes one and reserves one.
  std::uint64_t* opens_end = nullptr;
  std::uint64_t* slow_scopes_end = nullptr;  ///< scopes_end of the slow path, on whatever clock
  std::uint64_t outer_mutes = 0;             ///< depths below muted_depth that are muted too, as bits; only those to 63
};

static_assert(sizeof(Cursor) == sizeof(std::uint64_t*));

/// The same for all threads, so that the hot path needs no pointer to the cursor.
#if defined(__EMSCRIPTEN__)
inline constexpr std::size_t cursor_distance = std::size_t{192} * 1024;
#else
inline constexpr std::size_t cursor_distance = std::size_t{8} * 1024 * 1024;
#endif

KYMO_SKIP
inline Cursor& cursor_of(ThreadState& state) noexcept {
  return *reinterpret_cast<Cursor*>(reinterpret_cast<std::uintptr_t>(&state) + cursor_distance);
}

inline constexpr std::uint64_t busy_bit = std::uint64_t{1} << 63U;
inline constexpr std::uint64_t depth_mask = 0xFFFF;
inline constexpr unsigned generation_shift = 16;

KYMO_SKIP
constexpr std::uint64_t first_key(std::uint32_t generation) {
  return std::uint64_t{generation} << generation_shift;
}

KYMO_SKIP
constexpr bool is_free(std::uint64_t key) {
  return (key & busy_bit) == 0;
}

KYMO_SKIP
constexpr std::uint32_t generation_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(key >> generation_shift);
}

KYMO_SKIP
constexpr std::uint32_t depth_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(key & depth_mask);
}

/// A set of bits: the depths below one.
KYMO_SKIP
constexpr std::uint64_t depths_below(std::uint32_t depth) {
  return depth < 64 ? (std::uint64_t{1} << depth) - 1 : ~std::uint64_t{0};
}

/// longjmp, or a missing exit hook, skipped the close of a left-out scope if that is deeper than the thread is now. The
/// depth that was muted around it is the muted one again.
__attribute__((cold, noinline, visibility("hidden"))) KYMO_SKIP
inline void forget_skipped_mutes(ThreadState& state) noexcept {
  const std::uint32_t depth = depth_of(state.key);
  if (state.muted_depth > depth) {
    const std::uint64_t left = state.outer_mutes & depths_below(depth + 1);
    state.muted_depth = left != 0 ? static_cast<std::uint32_t>(63 - __builtin_clzll(left)) : 0;
    state.outer_mutes = left & depths_below(state.muted_depth);
  }
}

/// Whether arguments recorded now belong to a recorded scope.
KYMO_SKIP
inline bool takes_arguments(ThreadState& state) noexcept {
  if (depth_of(state.key) < state.muted_depth) {
    forget_skipped_mutes(state);
  }
  return depth_of(state.key) > state.muted_depth;
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
  return kind == WordKind::close ? (operand << 2U) | 2U : (static_cast<std::uint64_t>(kind) << 2U) | (operand << 6U);
}

/// A word of its tag and the count's lowest count_bits.
KYMO_SKIP
constexpr std::uint64_t word_of(std::uint64_t tag, std::uint64_t count) {
  return ((count >> 32U) << (tag_shift + tag_bits)) | (tag << tag_shift) | static_cast<std::uint32_t>(count);
}

KYMO_SKIP
constexpr std::uint64_t tag_of(std::uint64_t word) {
  return (word >> tag_shift) & ((1U << tag_bits) - 1);
}

/// The lowest count_bits of a word's count, above as many zeros as make 64 bits: differences of two wrap as counts do.
KYMO_SKIP
constexpr std::uint64_t shifted_count_of(std::uint64_t word) {
  return (word & ~std::uint64_t{0} << (tag_shift + tag_bits)) | std::uint64_t{static_cast<std::uint32_t>(word)}
                                                                    << tag_bits;
}

/// Orders plain accesses of this thread against a signal handler of the same thread. Costs no instruction.
KYMO_SKIP
inline void signal_fence() {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
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
KYMO_API extern __thread kymo::detail::ThreadState* kymo_thread_v3 KYMO_STATIC_TLS;

/// Nonzero while scopes are recorded.
KYMO_API extern kymo::detail::Shared<std::uint32_t> kymo_scopes_on_v1;
}
