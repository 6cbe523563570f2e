// Functions with @kymo.profile, and the generators and coroutines that they return.
#pragma once

#include <kymo/kymo.h>

#include "arguments.hpp"
#include "open_scope.hpp"
#include "python.hpp"

namespace kymo::python {

/// The result of calling a function.
enum class Returns { value, generator, coroutine, async_generator };

/// The site and arguments of a profiled function's scopes.
struct ProfiledSite {
  kymo_site* site = nullptr;
  const KeptArguments* arguments = nullptr;  ///< null: none; lives until the process ends
};

/// Opens a scope for a call or a resumption, and closes it when the guard is destroyed.
class ProfiledScope {
 public:
  explicit ProfiledScope(const ProfiledSite& place) {
    if (detail::scopes_on()) {
      token_ = detail::open_scope(*place.site);
      if (place.arguments != nullptr && is_recorded(token_)) {
        place.arguments->record();
      }
    }
  }
  ProfiledScope(const ProfiledScope&) = delete;
  ProfiledScope& operator=(const ProfiledScope&) = delete;
  ~ProfiledScope() { close_in_any_order(token_); }

 private:
  detail::ScopeToken token_;
};

/// Wraps a generator, coroutine or async generator so that each resumption is a scope. `inner` is the function's
/// result; steals the reference. Null on failure.
[[nodiscard]] PyObject* make_resumable(Returns kind, const ProfiledSite& place, PyObject* inner);

}  // namespace kymo::python
