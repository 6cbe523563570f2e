// The hot path: read the clock, store, publish. Inlined into the instrumented program.
//
// No lock, no allocation, no shared cache line. The state is marked busy around every write. A signal handler that
// interrupts a write sees this, and counts its own scope as dropped instead of corrupting the interrupted one. All
// other cases continue in kymo_*_slow_v2, which expect a busy state: one out-of-line call per scope.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kymo/kymo.h>
#include <kymo/argument.hpp>
#include <kymo/detail/counter.hpp>
#include <kymo/detail/thread_state.hpp>

extern "C" {
/// The slow path. `key` is the state's key from before the hot path made it busy; it is restored first.
KYMO_API std::uint64_t kymo_open_slow_v2(kymo_site* site, std::uint64_t key) noexcept __attribute__((cold));
KYMO_API void kymo_close_slow_v2(std::uint64_t token) noexcept __attribute__((cold));
KYMO_API void kymo_arguments_slow_v2(std::uint32_t* names, const kymo::Argument* arguments, std::size_t count,
                                     std::uint64_t key) noexcept __attribute__((cold));
}

/// Keeps a function out of line of the hot path. Hidden, so that calls need no PLT.
#define KYMO_DETAIL_REST __attribute__((cold, noinline, visibility("hidden"))) KYMO_SKIP

namespace kymo::detail {

/// An open scope, held by its owner in a register: the thread's key while it is the innermost. 0 if there is nothing to
/// close. With unrecorded_bit: the key to restore at the end of a dropped or left-out scope.
struct ScopeToken {
  std::uint64_t word = 0;
};

inline constexpr std::uint64_t unrecorded_bit = 1U << 15U;

/// Value of kymo_site::argument_names for a left-out site: its scopes have no arguments.
inline constexpr std::uint32_t left_out_mark = ~std::uint32_t{0};

KYMO_SKIP
constexpr bool is_recorded(ScopeToken token) noexcept {
  return token.word != 0 && (token.word & unrecorded_bit) == 0;
}

KYMO_SKIP
constexpr bool likely(bool condition) noexcept {
  return __builtin_expect(static_cast<long>(condition), 1) != 0;
}

KYMO_SKIP
inline bool scopes_on() noexcept {
  return kymo_scopes_on_v1.load(__ATOMIC_RELAXED) != 0;
}

/// Compares integers, not pointers: the cursor may be past `end` after its reserved words were used.
KYMO_SKIP
inline bool has_room(const ThreadState& state, const std::uint64_t* cursor, std::uint64_t words) noexcept {
  return reinterpret_cast<std::uintptr_t>(cursor) + (words - words_of_a_scope) * sizeof *cursor <
         reinterpret_cast<std::uintptr_t>(state.scopes_end);
}

/// The same for a scope's open, with a shorter check that sometimes takes the slow path early.
KYMO_SKIP
inline bool may_open(const ThreadState& state, const std::uint64_t* cursor) noexcept {
  return reinterpret_cast<std::uintptr_t>(cursor) < reinterpret_cast<std::uintptr_t>(state.opens_end);
}

/// The time field of a word, if the time is in reach of the state's time base. Otherwise some of the lowest 20 bits are
/// set; see is_in_reach().
KYMO_SKIP
inline std::uint64_t time_field_of(const ThreadState& state, std::uint64_t time) noexcept {
  const std::uint64_t delta = time - state.time_base;
  return (delta << time_shift) | (delta >> time_bits);
}

KYMO_SKIP
constexpr bool is_in_reach(std::uint64_t time_field) noexcept {
  // A 32-bit comparison is shorter than one with a mask.
  return static_cast<std::uint32_t>(time_field) << (32U - time_shift) == 0;
}

/// Writes a word and advances the cursor.
KYMO_SKIP
inline void publish(ThreadState& state, std::uint64_t* cursor, std::uint64_t word) noexcept {
  *cursor = word;
  cursor_of(state).store(cursor + 1, __ATOMIC_RELEASE);
  signal_fence();
}

/// Opens a scope that leaves no trace: no word, no drop count. Arguments recorded inside it do not go to its parent.
KYMO_SKIP
inline ScopeToken leave_out_scope(ThreadState& state, std::uint64_t key) noexcept {
  // If the innermost scope already takes no arguments, nothing needs undoing at the end.
  if (!is_free(key) || !takes_arguments(key)) {
    return {};
  }
  state.key = muted(key);
  return {key | unrecorded_bit};
}

/// The part of open_scope's slow path that stays in this module: a left-out scope costs two calls within the module.
KYMO_DETAIL_REST
inline ScopeToken open_rest(kymo_site& site, std::uint64_t key) noexcept {
  if (__atomic_load_n(&site.argument_names, __ATOMIC_RELAXED) == left_out_mark) {
    return leave_out_scope(*kymo_thread_v2, key);
  }
  return {kymo_open_slow_v2(&site, key)};
}

/// The same for close_scope.
KYMO_DETAIL_REST
inline void close_rest(ScopeToken token) noexcept {
  ThreadState* const state = kymo_thread_v2;
  if ((token.word & unrecorded_bit) != 0 && state->key == muted(token.word ^ unrecorded_bit)) {
    state->key = token.word ^ unrecorded_bit;
  } else {
    kymo_close_slow_v2(token.word);
  }
}

/// Opens a scope. The caller has checked that scopes are on. `rest(site, key)` is the slow path.
template <typename Rest>
__attribute__((always_inline)) KYMO_SKIP
inline ScopeToken open_scope(kymo_site& site, const Rest& rest) noexcept {
  ThreadState* const state = kymo_thread_v2;
  const std::uint64_t id = __atomic_load_n(&site.id, __ATOMIC_ACQUIRE);
  const std::uint64_t key = state->key;
  // Highest bit of either: the site has no id, or the state is busy.
  if (likely(is_free((id - 1) | key))) {
    make_busy(*state);
    signal_fence();
    std::uint64_t* const cursor = cursor_of(*state).load(__ATOMIC_RELAXED);
    const std::uint64_t time = time_field_of(*state, read_counter());
    if (likely(is_in_reach(time)) && likely(may_open(*state, cursor))) {
      publish(*state, cursor, time + (id * 2 + 1));  // open_tag(id), in one instruction
      state->key = key + 1;
      return {key + 1};
    }
    signal_fence();
  }
  return rest(site, key);
}

__attribute__((always_inline)) KYMO_SKIP
inline ScopeToken open_scope(kymo_site& site) noexcept {
  return open_scope(site, open_rest);
}

/// Counts a scope as dropped because its name exceeds the limit of distinct names.
KYMO_SKIP
inline ScopeToken drop_scope() noexcept {
  return {kymo_open_slow_v2(nullptr, kymo_thread_v2->key)};
}

/// Closes a scope opened by open_scope, which reserved the space. `rest(token)` is the slow path.
template <typename Rest>
__attribute__((always_inline)) KYMO_SKIP
inline void close_scope(ScopeToken token, const Rest& rest) noexcept {
  ThreadState* const state = kymo_thread_v2;
  if (likely(state->key == token.word)) {
    make_busy(*state);
    signal_fence();
    std::uint64_t* const cursor = cursor_of(*state).load(__ATOMIC_RELAXED);
    const std::uint64_t time = time_field_of(*state, read_counter());
    if (likely(is_in_reach(time))) {
      const std::uint64_t before = token.word - 1;
      publish(*state, cursor,
              time + (std::uint64_t{static_cast<std::uint16_t>(before)} * 4 + 2));  // kind_tag(close, depth)
      state->key = before;
      return;
    }
    signal_fence();
  }
  rest(token);
}

KYMO_SKIP
inline void close_scope(ScopeToken token) noexcept {
  close_scope(token, close_rest);
}

/// Whether an argument recorded now belongs to a recorded scope.
KYMO_SKIP
inline bool accepts_argument() noexcept {
  return scopes_on() && takes_arguments(kymo_thread_v2->key);
}

/// Records arguments of the innermost open scope. Their names have consecutive ids, starting at `names`.
KYMO_SKIP
inline void record_arguments(std::uint32_t& names, const Argument* arguments, std::size_t count) noexcept {
  ThreadState* const state = kymo_thread_v2;
  const std::uint32_t first_name = __atomic_load_n(&names, __ATOMIC_ACQUIRE);
  const std::uint64_t key = state->key;
  if (likely(is_free(key))) {
    make_busy(*state);
    signal_fence();
    std::uint64_t* cursor = cursor_of(*state).load(__ATOMIC_RELAXED);
    bool is_plain = first_name != 0 && has_room(*state, cursor, depth_of(key) + 2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      is_plain = is_plain && arguments[i].type != ArgumentType::string;
    }
    if (likely(is_plain)) {
      for (std::size_t i = 0; i < count; ++i) {
        cursor[0] = (std::uint64_t{first_name + i} << time_shift) |
                    kind_tag(WordKind::argument, static_cast<std::uint64_t>(arguments[i].type));
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
  kymo_arguments_slow_v2(&names, arguments, count, key);
}

/// Records one argument within the expression that creates it, while a string it refers to is still alive.
KYMO_SKIP
inline void record_argument(std::uint32_t& name, const Argument& argument) noexcept {
  record_arguments(name, &argument, 1);
}

}  // namespace kymo::detail
