// How the collector gets to work where a program has one thread: it is called.
//
// It is called when many chunks were taken (from within the call that takes the last of them), when something is asked
// of it, at frame marks and by a timer of the page; a call that comes while it works does nothing.
#pragma once

namespace kymo::record {

#if defined(__EMSCRIPTEN__)

/// Drains what was recorded, serves what was asked.
void pump_collector() noexcept;

/// The same, where it has not worked for its period. Costs a read of the clock. For calls that write no event.
void pump_collector_if_due() noexcept;

#else

/// The collector has a thread of its own.
inline void pump_collector_if_due() noexcept {}

#endif

}  // namespace kymo::record
