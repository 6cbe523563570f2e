// Threads that were observed from outside, and the tracks that they recorded themselves.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <kymo/declarations.hpp>
#include <kymo/export.hpp>

namespace kymo::timeline {

/// The observed threads that each track's scopes ran on: those with its kernel thread id in a process of its pid, on
/// the machine that was observed, one after the other. None for tracks of fibers and of other kinds.
[[nodiscard]] KYMO_API std::unordered_map<TrackId, std::vector<ThreadId>> threads_of_tracks(
    const Declarations& declared);

/// The names of observed threads: the program's own where it gave one, else the kernel's; by the threads' order.
[[nodiscard]] KYMO_API std::vector<std::string> names_of_threads(const Declarations& declared);

}  // namespace kymo::timeline
