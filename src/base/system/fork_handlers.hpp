// Handlers of fork() that stay until kymo has ended.
#pragma once

namespace kymo::base {

/// As pthread_atfork(). A library's handlers go before its destructors run: a fork that another thread has under way
/// then takes locks and gives none back, and what ends the recording would wait for them.
void add_fork_handlers(void (*prepare)(), void (*in_parent)(), void (*in_child)()) noexcept;

/// Removes them: their code may be unloaded now. Only where they would stay otherwise.
void remove_fork_handlers() noexcept;

}  // namespace kymo::base
