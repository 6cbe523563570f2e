// Functions with @kymo.profile, and the generators and coroutines that they return.
#pragma once

#include <kymo/kymo.h>

#include "arguments.hpp"
#include "call_stack.hpp"
#include "python.hpp"

namespace kymo::python {

/// The result of calling a function.
enum class Returns { value, generator, coroutine, async_generator };

/// The site and arguments of a profiled function's scopes.
struct ProfiledSite {
  kymo_site* site = nullptr;
  const KeptArguments* arguments = nullptr;  ///< null: none; lives until the process ends
  const void* code = nullptr;                ///< of the generator or coroutine that is resumed, to be compared only
};

/// Opens a scope. Call while scopes are on. Never 0, by which callers know a scope that was not opened yet.
inline detail::ScopeToken open_profiled(const ProfiledSite& place) {
  CallStack::write_deferred();
  const detail::ScopeToken token = detail::open_scope(*place.site);
  if (place.arguments != nullptr && is_recorded(token)) {
    place.arguments->record();
  }
  return token.word != 0 ? token : detail::nothing_to_close;
}

/// Wraps a generator, coroutine or async generator so that each resumption is a scope. `inner` is the function's
/// result; steals the reference. Null on failure.
[[nodiscard]] PyObject* make_resumable(Returns kind, const ProfiledSite& place, PyObject* inner);

}  // namespace kymo::python
