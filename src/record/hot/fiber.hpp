// Fibers on the recording thread's side: the thread's current fiber and its slot.
//
// A fiber has a slot of the pool like a thread. Entering a fiber sets the thread's slot pointer to the fiber's slot, so
// the hot path needs no code for fibers.
#pragma once

#include <string_view>

#include "record/pool/spool_layout.hpp"

namespace kymo::record {

/// Whether the calling thread's events belong to a fiber or, if it could not enter it, to nobody.
[[nodiscard]] bool is_in_fiber() noexcept;

/// The name of the calling thread's fiber.
[[nodiscard]] std::string_view current_fiber_name() noexcept;

/// Gives the calling thread's fiber a slot. Null if there is none, or the thread could not enter the fiber.
[[nodiscard]] TrackSlot* attach_fiber() noexcept;

/// The thread's own slot, inside a fiber or not; null before its first event.
[[nodiscard]] TrackSlot* thread_slot() noexcept;

/// At thread end: leaves the current fiber.
void leave_fiber_at_thread_end() noexcept;

/// In a forked child, on its only thread: it stays in its fiber, but the fiber's slot was the parent's.
void forget_slots_in_child() noexcept;

}  // namespace kymo::record
