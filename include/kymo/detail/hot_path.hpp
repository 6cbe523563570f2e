// The hot path: read the clock, store, publish. Inlined into the instrumented program.
//
// No lock, no allocation, no shared cache line. Every write is bracketed by making the state busy, so that a signal
// handler which interrupts it can tell, and counts its own scope as dropped instead of tearing this one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <kymo/kymo.h>
#include <kymo/argument.hpp>
#include <kymo/detail/counter.hpp>
#include <kymo/detail/thread_state.hpp>

extern "C" KYMO_API void kymo_arguments_slow_v1(std::uint32_t* names, const kymo::Argument* arguments,
                                                std::size_t count);

namespace kymo::detail {

/// An open scope as its owner holds it, in registers. `state` is null when nothing was recorded; its lowest bit is set
/// when the scope was dropped, and `saved` is then what ThreadState::dropped_at was before; else it is
/// ThreadState::reserve.
struct ScopeToken {
  std::uintptr_t state = 0;
  std::uint64_t saved = 0;
};

inline constexpr std::uintptr_t dropped_bit = 1;

KYMO_SKIP
inline bool scopes_on() noexcept {
  return kymo_scopes_on_v1.load(std::memory_order_relaxed) != 0;
}

/// As numbers: busy_reserve reaches far beyond the chunk, and the cursor may stand past `end` once its spare words were
/// used.
KYMO_SKIP
inline bool has_room(const ThreadState& state, const std::uint64_t* cursor, std::uint64_t words) noexcept {
  return reinterpret_cast<std::uintptr_t>(cursor) + words * sizeof *cursor <=
         reinterpret_cast<std::uintptr_t>(state.end);
}

/// Opens a scope. The caller has seen that scopes are on.
KYMO_SKIP
inline ScopeToken open_scope(kymo_site& site) noexcept {
  ThreadState* const state = kymo_thread_v1;
  const std::uint32_t id = __atomic_load_n(&site.id, __ATOMIC_ACQUIRE);
  if (__builtin_expect(static_cast<long>(state != nullptr && id != 0), 1) != 0) {
    const std::uint64_t reserve = state->reserve;
    state->reserve = busy_reserve;
    signal_fence();
    std::uint64_t* const cursor = state->cursor.load(std::memory_order_relaxed);
    const std::uint64_t delta = read_counter() - state->time_base;
    if (__builtin_expect(static_cast<long>(has_room(*state, cursor, reserve + 2) && (delta >> time_bits) == 0), 1) !=
        0) {
      *cursor = (delta << time_shift) | open_tag(id);
      state->cursor.store(cursor + 1, std::memory_order_release);
      signal_fence();
      state->reserve = reserve + 1;
      return {reinterpret_cast<std::uintptr_t>(state), reserve};
    }
    signal_fence();
    state->reserve = reserve;
  }
  kymo_scope scope = kymo_open_slow_v1(&site);  // not const: GCC 12 would keep it in memory
  return {scope.state, scope.saved};
}

/// Closes what open_scope opened. Room for it was reserved then.
KYMO_SKIP
inline void close_scope(ScopeToken token) noexcept {
  ThreadState* const state = kymo_thread_v1;
  if (__builtin_expect(static_cast<long>(reinterpret_cast<std::uintptr_t>(state) == token.state), 1) != 0) {
    state->reserve = busy_reserve;
    signal_fence();
    std::uint64_t* const cursor = state->cursor.load(std::memory_order_relaxed);
    const std::uint64_t delta = read_counter() - state->time_base;
    if (__builtin_expect(static_cast<long>((delta >> time_bits) == 0), 1) != 0) {
      *cursor = (delta << time_shift) | kind_tag(WordKind::close, token.saved);
      state->cursor.store(cursor + 1, std::memory_order_release);
      signal_fence();
      state->reserve = token.saved;
      return;
    }
    signal_fence();
    state->reserve = token.saved + 1;
  }
  kymo_close_slow_v1(token.state, token.saved);
}

/// Whether an argument recorded now belongs to a recorded scope.
KYMO_SKIP
inline bool accepts_argument() noexcept {
  const ThreadState* const state = kymo_thread_v1;
  return scopes_on() && state != nullptr && state->reserve != 0 && state->reserve != state->dropped_at;
}

/// Records arguments of the innermost open scope. Their names were given consecutive ids, kept in `names`.
KYMO_SKIP
inline void record_arguments(std::uint32_t& names, const Argument* arguments, std::size_t count) noexcept {
  ThreadState* const state = kymo_thread_v1;
  const std::uint32_t first_name = __atomic_load_n(&names, __ATOMIC_ACQUIRE);
  const std::uint64_t reserve = state->reserve;
  state->reserve = busy_reserve;
  signal_fence();
  std::uint64_t* cursor = state->cursor.load(std::memory_order_relaxed);
  bool is_plain = first_name != 0 && has_room(*state, cursor, reserve + 2 * count);
  for (std::size_t i = 0; i < count; ++i) {
    is_plain = is_plain && arguments[i].type != ArgumentType::string;
  }
  if (__builtin_expect(static_cast<long>(is_plain), 1) != 0) {
    for (std::size_t i = 0; i < count; ++i) {
      cursor[0] = (std::uint64_t{first_name + i} << time_shift) |
                  kind_tag(WordKind::argument, static_cast<std::uint64_t>(arguments[i].type));
      cursor[1] = arguments[i].bits;
      cursor += 2;
    }
    state->cursor.store(cursor, std::memory_order_release);
    signal_fence();
    state->reserve = reserve;
    return;
  }
  signal_fence();
  state->reserve = reserve;
  kymo_arguments_slow_v1(&names, arguments, count);
}

/// Records one argument within the expression that makes it, so that a string it refers to still lives.
KYMO_SKIP
inline void record_argument(std::uint32_t& name, const Argument& argument) noexcept {
  record_arguments(name, &argument, 1);
}

}  // namespace kymo::detail
