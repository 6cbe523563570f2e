// Fibers on the recording thread's side: which one it is in, and what becomes of that.
//
// A fiber has a slot of the pool like a thread. To enter it is to point the thread's one pointer at that slot, so that
// the hot path knows nothing of fibers.
#pragma once

#include <string_view>

#include "record/spool_layout.hpp"

namespace kymo::record {

/// Whether what the calling thread records belongs to a fiber, or, where it could not enter it, to nobody.
[[nodiscard]] bool is_in_fiber() noexcept;

/// The name of the fiber that the calling thread is in.
[[nodiscard]] std::string_view current_fiber_name() noexcept;

/// Gives the fiber that the calling thread is in a slot. Null where there is none, or the thread could not enter it.
[[nodiscard]] TrackSlot* attach_fiber() noexcept;

/// The slot of the thread itself, wherever it is; null before its first event.
[[nodiscard]] TrackSlot* thread_slot() noexcept;

/// The thread ends: it leaves the fiber that it is in.
void leave_fiber_at_thread_end() noexcept;

/// In a forked child, on its one thread: it stays in its fiber, whose slot was the parent's.
void forget_slots_in_child() noexcept;

}  // namespace kymo::record
