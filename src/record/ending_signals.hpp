// Signals that end the program: the collector gets a moment, and the program ends as it would have.
#pragma once

namespace kymo::record {

/// Handles, from the first call on, those of these signals whose action is the default one; a program that handles one
/// itself is left alone.
///
/// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP: the collector writes what was recorded, for at most a
/// second. SIGINT, SIGTERM, SIGHUP: it closes the captures, for at most two. Then the default action follows, with the
/// signal's own facts.
void watch_ending_signals() noexcept;

}  // namespace kymo::record
