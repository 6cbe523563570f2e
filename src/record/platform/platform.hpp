// The recorder's system calls on threads and processes.
#pragma once

#include <cstdint>

#include "base/system/file.hpp"

namespace kymo::record {

/// The kernel's id of the calling thread.
[[nodiscard]] std::uint64_t os_thread_id() noexcept;

/// Whether a thread of this process is known to have ended; false if the system cannot tell.
[[nodiscard]] bool has_thread_ended(std::uint64_t id) noexcept;

/// The calling thread's name with a terminating zero; empty if it has none. Async-signal-safe.
void read_thread_name(char (&name)[17]) noexcept;

/// Whether the calling thread blocks any signal, as it does in most handlers. Async-signal-safe.
[[nodiscard]] bool blocks_signals() noexcept;

/// Whether this is the first copy of the recorder in this process image. `claim` holds the resource that tells a second
/// copy so; it is released when the process ends or calls exec. Also true if the system has no such resource, and in a
/// WebAssembly program, which is a single image.
[[nodiscard]] bool claim_process(base::KnownFile& claim) noexcept;

}  // namespace kymo::record
