// What @kymo.profile makes of functions, and of the generators and coroutines that they return.
#pragma once

#include <kymo/kymo.h>

#include "arguments.hpp"
#include "open_scope.hpp"
#include "python.hpp"

namespace kymo::python {

/// What a call of a function returns.
enum class Returns { value, generator, coroutine, async_generator };

/// What each scope of one profiled function is recorded as.
struct ProfiledSite {
  kymo_site* site = nullptr;
  const KeptArguments* arguments = nullptr;  ///< null: none; lives as long as the process
};

/// Opens a scope for a call or a resumption, closed when it goes out of sight.
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

/// A generator, coroutine or async generator, each of whose resumptions is a scope. `inner` is what the function
/// returned; the reference is taken over. Empty where that failed.
[[nodiscard]] PyObject* make_resumable(Returns kind, const ProfiledSite& place, PyObject* inner);

}  // namespace kymo::python
