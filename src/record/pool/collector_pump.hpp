// Runs the collector in a program with a single thread. A call while it is working does nothing. It is called
//
// - when many chunks were taken, by the call that takes the last of them,
// - on requests to the collector,
// - at frame marks,
// - by a timer of the page.
#pragma once

namespace kymo::record {

#if defined(__EMSCRIPTEN__)

/// Drains the recorded events and serves requests.
void pump_collector() noexcept;

/// The same, if the collector has not run for its period. Costs a read of the clock. For calls that write no event.
void pump_collector_if_due() noexcept;

#else

/// The collector has a thread of its own.
inline void pump_collector_if_due() noexcept {}

#endif

}  // namespace kymo::record
