// What happens when the program crashes: the collector is asked to write, and the crash goes on as it would have.
#pragma once

namespace kymo::record {

/// Catches SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS and SIGTRAP once: the handler wakes the collector, waits at
/// most a second for it to write, and hands on to what was installed before. Called again it does nothing.
void install_crash_handler() noexcept;

}  // namespace kymo::record
