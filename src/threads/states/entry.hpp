// How libkymo records the run states of its own process. The functions are in libkymo_sense, as the sampler's are.
#pragma once

#include <kymo/export.hpp>

#include "record/collector/observer.hpp"

extern "C" {

/// Whether KYMO_THREADS asks for them, or nothing speaks against: KYMO_MACHINE=off says that another process observes.
/// If so, and a capture takes them, begins. Reads the environment.
KYMO_API bool kymo_begin_states_v1(bool has_capture) noexcept;
/// The observer: begins with its first call. One thread at a time.
KYMO_API bool kymo_take_states_v2(kymo::EventBatch* batch, kymo::record::Observation extent) noexcept;
/// In a forked child: forgets what the parent began.
KYMO_API void kymo_forget_states_v1() noexcept;
}
