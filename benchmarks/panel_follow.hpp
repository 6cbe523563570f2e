// How far behind a recording program the panel is, what memory it takes, and what the program notices of it.
#pragma once

#include <cstdint>

namespace kymo::benchmarks {

void add_follow_benchmarks();

/// The recorded program: a million scopes and a hundred frames a second into a capture, until a time of
/// CLOCK_MONOTONIC. Says on stdout what a scope cost its thread, in nanoseconds of CPU.
int record_load(const char* path, std::uint64_t until_ns);

}  // namespace kymo::benchmarks
