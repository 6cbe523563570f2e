#include "base/system/fork_handlers.hpp"

#include <pthread.h>

#if defined(__GLIBC__)
extern "C" {
// Of the C library, which pthread_atfork() calls on behalf of the module that it is linked into.
// NOLINTBEGIN(readability-identifier-naming)
int __register_atfork(void (*prepare)(), void (*in_parent)(), void (*in_child)(), void* module) noexcept;
void __cxa_finalize(void* module) noexcept;
// NOLINTEND(readability-identifier-naming)
}
#endif

namespace kymo::base {

#if defined(__GLIBC__)

namespace {

/// Stands for a module that nobody unloads.
char own_module = 0;

}  // namespace

void add_fork_handlers(void (*prepare)(), void (*in_parent)(), void (*in_child)()) noexcept {
  static_cast<void>(__register_atfork(prepare, in_parent, in_child, &own_module));
}

void remove_fork_handlers() noexcept {
  __cxa_finalize(&own_module);
}

#else

void add_fork_handlers(void (*prepare)(), void (*in_parent)(), void (*in_child)()) noexcept {
  static_cast<void>(::pthread_atfork(prepare, in_parent, in_child));
}

void remove_fork_handlers() noexcept {}

#endif

}  // namespace kymo::base
