// How libkymo starts a sampler: libkymo_sense is loaded when recording is asked for, so that a program which never
// samples carries none of it. A static program that links kymo::sense has the same functions in itself.
#pragma once

#include <cstdint>

#include <kymo/export.hpp>

extern "C" {

/// Rates in hertz; 0: off.
struct kymo_sampling_v1 {
  double fast_hz;
  double medium_hz;
  double slow_hz;
};

/// Starts the process's own sampler; false, said, where that cannot be done or it runs.
KYMO_API bool kymo_start_sampling_v1(const kymo_sampling_v1* rates) noexcept;
/// Stops it and waits for its threads.
KYMO_API void kymo_stop_sampling_v1() noexcept;
/// In a forked child: its threads are not here. Forgets it without waiting.
KYMO_API void kymo_forget_sampling_v1() noexcept;
}
