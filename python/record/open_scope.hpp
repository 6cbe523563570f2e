// A scope that Python code has open: opened and closed on the recorder's hot path.
#pragma once

#include <kymo/detail/hot_path.hpp>

namespace kymo::python {

[[nodiscard]] inline bool is_recorded(const detail::ScopeToken& token) {
  return token.state != 0 && (token.state & detail::dropped_bit) == 0;
}

/// Closes a scope. In Python scopes need not close in order: a generator may be left with one open, or be resumed on
/// another thread. One that was closed with a scope around it is left alone, so that those around it are not disturbed.
inline void close_in_any_order(const detail::ScopeToken& token) {
  if (token.state == 0) {
    return;
  }
  const detail::ThreadState* const state = kymo_thread_v1;
  const bool is_closed_already =
      reinterpret_cast<std::uintptr_t>(state) == token.state && state->reserve <= token.saved;
  if (!is_closed_already) {
    detail::close_scope(token);
  }
}

}  // namespace kymo::python
