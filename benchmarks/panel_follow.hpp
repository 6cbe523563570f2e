// The panel's delay behind a recording program, its memory, and its effect on the program.
#pragma once

#include <cstdint>

namespace kymo::benchmarks {

void add_follow_benchmarks();

/// The recorded program: a million scopes and a hundred frames a second into a capture, until a time of
/// CLOCK_MONOTONIC. Prints on stdout the cost of a scope to its thread, in nanoseconds of CPU.
int record_load(const char* path, std::uint64_t until_ns);

}  // namespace kymo::benchmarks
