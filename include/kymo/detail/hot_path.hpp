// The hot path: read the clock, store, publish. Inlined into the instrumented program.
//
// No lock, no allocation, no shared cache line. The state is marked busy around every write. A signal handler that
// interrupts a write sees this, and counts its own scope as dropped instead of corrupting the interrupted one. All
// other cases continue in kymo_*_slow_v3, which expect a busy state: one out-of-line call per scope.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kymo/kymo.h>
#include <kymo/argument.hpp>
#include <kymo/detail/counter.hpp>
#include <kymo/detail/thread_state.hpp>

extern "C" {
/// The slow path. `key` is the state's key from before the hot path made it busy; it is restored first.
KYMO_API std::uint64_t kymo_open_slow_v3(kymo_site* site, std::uint64_t key) noexcept __attribute__((cold));
KYMO_API void kymo_close_slow_v3(std::uint64_t token) noexcept __attribute__((cold));
KYMO_API void kymo_arguments_slow_v3(std::uint32_t* names, const kymo::Argument* arguments, std::size_t count,
                                     std::uint64_t key) noexcept __attribute__((cold));
}

/// Keeps a function out of line of the hot path. Hidden, so that calls need no PLT.
#define KYMO_DETAIL_REST __attribute__((cold, noinline, visibility("hidden"))) KYMO_SKIP

/// Of a condition. GCC aligns what is merely likely not to run, which would add 15 bytes to each scope.
#if defined(__has_builtin)
#if __has_builtin(__builtin_expect_with_probability)
#define KYMO_DETAIL_NEARLY_ALWAYS(condition) __builtin_expect_with_probability((condition), 1, 1.0)
#endif
#endif
#if !defined(KYMO_DETAIL_NEARLY_ALWAYS)
#define KYMO_DETAIL_NEARLY_ALWAYS(condition) __builtin_expect((condition), 1)
#endif

namespace kymo::detail {

/// An open scope, held by its owner in a register.
///
/// That of a recorded scope is the thread's key while it is the innermost, with slow_bit where its close has to take
/// the slow path. That of a left-out or dropped scope is `muting`; where another depth was muted before, it has the
/// thread's generation and that depth, above them not_recorded_bit.
struct ScopeToken {
  std::uint64_t word = 0;  ///< 0: scopes were off, or a left-out one changed nothing
};

inline constexpr std::uint64_t slow_bit = std::uint64_t{1} << 60U;

inline constexpr std::uint64_t not_recorded_bit = std::uint64_t{1} << 61U;
inline constexpr ScopeToken muting{~std::uint64_t{0}};

/// A scope that left nothing to close, of the slow path.
inline constexpr ScopeToken nothing_to_close{not_recorded_bit};

/// kymo_site::id of a left-out site. No other has the highest bit.
inline constexpr std::uint32_t left_out_id = ~std::uint32_t{0};

/// The id with its sign: 0 for none yet, negative for a left-out site.
KYMO_SKIP
inline std::int32_t signed_id(const kymo_site& site) noexcept {
  return static_cast<std::int32_t>(__atomic_load_n(&site.id, __ATOMIC_ACQUIRE));
}

KYMO_SKIP
inline bool has_id(const kymo_site& site) noexcept {
  return signed_id(site) > 0;
}

KYMO_SKIP
inline bool is_left_out(const kymo_site& site) noexcept {
  return signed_id(site) < 0;
}

KYMO_SKIP
constexpr bool is_recorded(ScopeToken token) noexcept {
  // Neither 0 nor one with not_recorded_bit, the sign of the rest.
  return static_cast<std::int64_t>(token.word << 2U) > 0;
}

/// Whether it is of a left-out or dropped scope.
KYMO_SKIP
constexpr bool is_left_out(ScopeToken token) noexcept {
  return (token.word & not_recorded_bit) != 0;
}

KYMO_SKIP
inline bool scopes_on() noexcept {
  return kymo_scopes_on_v1.load(__ATOMIC_RELAXED) != 0;
}

/// Compares integers, not pointers: the cursor may be past `end` after its reserved words were used.
KYMO_SKIP
inline bool has_room(const std::uint64_t* scopes_end, const std::uint64_t* cursor, std::uint64_t words) noexcept {
  return reinterpret_cast<std::uintptr_t>(cursor) + (words - words_of_a_scope) * sizeof *cursor <
         reinterpret_cast<std::uintptr_t>(scopes_end);
}

/// The same for a scope's open, with a shorter check that sometimes takes the slow path early.
KYMO_SKIP
inline bool may_open(const ThreadState& state, const std::uint64_t* cursor) noexcept {
  return reinterpret_cast<std::uintptr_t>(cursor) < reinterpret_cast<std::uintptr_t>(state.opens_end);
}

/// Writes a word and advances the cursor.
__attribute__((always_inline)) KYMO_SKIP
inline void publish(ThreadState& state, std::uint64_t* cursor, std::uint32_t tag, CounterHalves count) noexcept {
  // Two stores are shorter than the instructions that would make them one. The cursor publishes both.
  using Half [[gnu::may_alias]] = std::uint32_t;
  auto* const halves = reinterpret_cast<Half*>(cursor);
  constexpr std::size_t lower = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 1;
  halves[lower] = count.low;
  halves[1 - lower] = (count.high << tag_bits) + tag;
  cursor_of(state).store(cursor + 1, __ATOMIC_RELEASE);
  signal_fence();
}

/// Opens a scope that leaves no trace: no word, no drop count. Arguments recorded inside it do not go to its parent.
/// Never 0.
KYMO_SKIP
inline ScopeToken leave_out_scope() noexcept {
  ThreadState& state = *kymo_thread_v3;
  forget_skipped_mutes(state);
  const std::uint32_t depth = depth_of(state.key);
  const std::uint32_t before = state.muted_depth;
  if (before == depth) {
    return nothing_to_close;
  }
  state.muted_depth = depth;
  if (before == 0) {
    return muting;
  }
  state.outer_mutes = (state.outer_mutes & depths_below(before)) | (depths_below(before + 1) & ~depths_below(before));
  return {not_recorded_bit | first_key(generation_of(state.key)) | before};
}

/// Closes a left-out scope where another depth was muted before. On another thread, or in a forked child, nothing.
KYMO_SKIP
inline void unmute(ScopeToken token) noexcept {
  ThreadState& state = *kymo_thread_v3;
  const std::uint32_t before = depth_of(token.word);
  if (before != 0 && generation_of(state.key) == generation_of(token.word)) {
    state.muted_depth = before;
    state.outer_mutes &= depths_below(before);
  }
}

/// The part of open_scope's slow path that stays in this module. Never 0.
KYMO_DETAIL_REST
inline ScopeToken open_rest(kymo_site& site, std::uint64_t key) noexcept {
  return is_left_out(site) ? leave_out_scope() : ScopeToken{kymo_open_slow_v3(&site, key)};
}

/// The same for close_scope.
KYMO_DETAIL_REST
inline void close_rest(ScopeToken token) noexcept {
  if (is_left_out(token)) {
    unmute(token);
  } else {
    kymo_close_slow_v3(token.word);
  }
}

/// Tells the compiler that a token is not 0.
__attribute__((always_inline)) KYMO_SKIP
inline ScopeToken not_0(ScopeToken token) noexcept {
  if (token.word == 0) {
    __builtin_unreachable();
  }
  return token;
}

/// Opens a scope. The caller has checked that scopes are on. `rest(site, key)` is the slow path; it never returns 0.
template <typename Rest>
__attribute__((always_inline)) KYMO_SKIP
inline ScopeToken open_scope(kymo_site& site, const Rest& rest) noexcept {
  ThreadState* const state = kymo_thread_v3;
  const std::int64_t id = signed_id(site);
  const std::uint64_t key = state->key;
  // Highest bit of either: the site has no id or is left out, or the state is busy.
  if (KYMO_DETAIL_NEARLY_ALWAYS(is_free(static_cast<std::uint64_t>(id - 1) | key))) {
    make_busy(*state);
    signal_fence();
    std::uint64_t* const cursor = cursor_of(*state).load(__ATOMIC_RELAXED);
    const CounterHalves count = read_counter_halves();
    if (KYMO_DETAIL_NEARLY_ALWAYS(may_open(*state, cursor))) {
      publish(*state, cursor, static_cast<std::uint32_t>(id * 2 + 1), count);  // open_tag(id)
      state->key = key + 1;
      return not_0({key + 1});
    }
    signal_fence();
  } else if (id < 0) {
    // Left out. To put back what was loaded would make each such scope wait for the store of the one before.
    const std::uint32_t muted_depth = state->muted_depth;
    if (muted_depth == depth_of(key)) {
      return {};
    }
    if (muted_depth == 0) {
      state->muted_depth = depth_of(key);
      return muting;
    }
  }
  return not_0(rest(site, key));
}

__attribute__((always_inline)) KYMO_SKIP
inline ScopeToken open_scope(kymo_site& site) noexcept {
  return open_scope(site, open_rest);
}

/// Counts a scope as dropped because its name exceeds the limit of distinct names.
KYMO_SKIP
inline ScopeToken drop_scope() noexcept {
  return {kymo_open_slow_v3(nullptr, kymo_thread_v3->key)};
}

/// Closes a scope opened by open_scope, which reserved the space. `rest(token)` is the slow path.
template <typename Rest>
__attribute__((always_inline)) KYMO_SKIP
inline void close_scope(ScopeToken token, const Rest& rest) noexcept {
  ThreadState* const state = kymo_thread_v3;
  if (KYMO_DETAIL_NEARLY_ALWAYS(state->key == token.word)) {
    make_busy(*state);
    signal_fence();
    std::uint64_t* const cursor = cursor_of(*state).load(__ATOMIC_RELAXED);
    const std::uint64_t before = token.word - 1;
    // kind_tag(close, depth)
    publish(*state, cursor, std::uint32_t{static_cast<std::uint16_t>(before)} * 4 + 2, read_counter_halves());
    state->key = before;
  } else if (static_cast<std::int64_t>(token.word) < 0) {
    state->muted_depth = static_cast<std::uint32_t>(~token.word);  // 0, in fewer bytes
  } else {
    rest(token);
  }
}

KYMO_SKIP
inline void close_scope(ScopeToken token) noexcept {
  close_scope(token, close_rest);
}

/// Whether an argument recorded now belongs to a recorded scope.
KYMO_SKIP
inline bool accepts_argument() noexcept {
  return scopes_on() && takes_arguments(*kymo_thread_v3);
}

/// Records arguments of the innermost open scope. Their names have consecutive ids, starting at `names`.
KYMO_SKIP
inline void record_arguments(std::uint32_t& names, const Argument* arguments, std::size_t count) noexcept {
  ThreadState* const state = kymo_thread_v3;
  const std::uint32_t first_name = __atomic_load_n(&names, __ATOMIC_ACQUIRE);
  const std::uint64_t key = state->key;
  if (KYMO_DETAIL_NEARLY_ALWAYS(is_free(key))) {
    make_busy(*state);
    signal_fence();
    std::uint64_t* cursor = cursor_of(*state).load(__ATOMIC_RELAXED);
    bool is_plain = first_name != 0 && has_room(state->scopes_end, cursor, depth_of(key) + 2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      is_plain = is_plain && arguments[i].type != ArgumentType::string;
    }
    if (KYMO_DETAIL_NEARLY_ALWAYS(is_plain)) {
      for (std::size_t i = 0; i < count; ++i) {
        cursor[0] = word_of(kind_tag(WordKind::argument, static_cast<std::uint64_t>(arguments[i].type)),
                            static_cast<std::uint32_t>(first_name + i));
        cursor[1] = arguments[i].bits;
        cursor += 2;
      }
      cursor_of(*state).store(cursor, __ATOMIC_RELEASE);
      signal_fence();
      state->key = key;
      return;
    }
    signal_fence();
  }
  kymo_arguments_slow_v3(&names, arguments, count, key);
}

/// Records one argument within the expression that creates it, while a string it refers to is still alive.
KYMO_SKIP
inline void record_argument(std::uint32_t& name, const Argument& argument) noexcept {
  record_arguments(name, &argument, 1);
}

}  // namespace kymo::detail
