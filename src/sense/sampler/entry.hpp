// How libkymo starts a sampler. libkymo_sense is loaded when recording is requested, so a program that never samples
// does not carry it. A static program that links kymo::sense contains the same functions.
#pragma once

#include <kymo/export.hpp>

extern "C" {

/// Rates in hertz; 0: off.
struct kymo_sampling_v1 {
  double fast_hz;
  double medium_hz;
  double slow_hz;
};

/// Starts the process's own sampler. Returns false with a message if that fails or one is running.
KYMO_API bool kymo_start_sampling_v1(const kymo_sampling_v1* rates) noexcept;
/// Stops it and joins its threads.
KYMO_API void kymo_stop_sampling_v1() noexcept;
/// In a forked child: forgets the sampler without waiting, because its threads do not exist here.
KYMO_API void kymo_forget_sampling_v1() noexcept;
}
