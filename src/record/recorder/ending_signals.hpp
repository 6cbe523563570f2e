// Signals that end the program: the collector gets a moment, then the program ends as without kymo.
#pragma once

namespace kymo::record {

/// From the first call on, handles these signals if their action is the default one. A program's own handlers stay.
///
/// - SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP: the collector writes what was recorded, for at most a
///   second.
/// - SIGINT, SIGTERM, SIGHUP: it closes the captures, for at most two seconds.
///
/// Then the default action follows, with the signal's original information.
void watch_ending_signals() noexcept;

}  // namespace kymo::record
