// A scope opened by Python code, using the recorder's hot path.
#pragma once

#include <kymo/detail/hot_path.hpp>

namespace kymo::python {

/// Closes a scope. In Python, scopes need not close in order: a generator may be abandoned with an open scope or be
/// resumed on another thread. If the scope was already closed with one around it, this does nothing, so as not to
/// disturb the scopes around it.
inline void close_in_any_order(const detail::ScopeToken& token) {
  if (token.word == 0) {
    return;
  }
  const std::uint64_t key = kymo_thread_v3->key;
  const bool is_closed_already = is_recorded(token) &&
                                 detail::generation_of(key) == detail::generation_of(token.word) &&
                                 detail::depth_of(key) < detail::depth_of(token.word);
  if (!is_closed_already) {
    detail::close_scope(token);
  }
}

}  // namespace kymo::python
