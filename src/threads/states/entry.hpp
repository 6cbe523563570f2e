// How libkymo records the run states of its own process. The functions are in libkymo_sense, as the sampler's are.
#pragma once

#include <kymo/export.hpp>

namespace kymo {
struct EventBatch;
}

extern "C" {

/// Whether KYMO_THREADS asks for them, or nothing speaks against: KYMO_MACHINE=off says that another process observes.
/// If so, and a capture takes them, begins. Reads the environment.
KYMO_API bool kymo_begin_states_v1(bool has_capture) noexcept;
/// Puts what became known since the last call into an empty batch; begins if nothing did. `is_last` ends: the next call would
/// begin anew. Returns whether there is anything. One thread at a time.
KYMO_API bool kymo_take_states_v1(kymo::EventBatch* batch, bool is_last) noexcept;
/// In a forked child: forgets what the parent began.
KYMO_API void kymo_forget_states_v1() noexcept;
}
