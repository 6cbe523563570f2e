// Signals that end the program: the collector gets a moment, then the program ends as without kymo.
#pragma once

namespace kymo::record {

/// Handles these signals if their action is the default one. A program's own handlers stay.
///
/// - SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP, from the first call on: the collector writes what was
///   recorded, for at most a second.
/// - SIGINT, SIGTERM, SIGHUP, from a second later on or from the first call with `at_once`: it closes the captures, for
///   at most two seconds. Libraries that the program initialises in that second find the default action: a Python
///   interpreter and ncurses install their handlers over nothing else. Forked children and workers initialise none.
///
/// Then the default action follows, with the signal's original information. Where a handler that was installed later
/// goes on with ours, the collector only writes, and that handler decides what follows.
void watch_ending_signals(bool at_once) noexcept;

/// Call now and then, on any thread: handles the signals whose time has come.
void watch_later_signals() noexcept;

}  // namespace kymo::record
