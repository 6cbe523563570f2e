// What the system calls the calling thread.
#pragma once

#include <cstdint>

namespace kymo::record {

/// The kernel's number of it.
[[nodiscard]] std::uint64_t os_thread_id() noexcept;

/// Whether a thread of this process is known to have ended; not where the system cannot be asked.
[[nodiscard]] bool has_thread_ended(std::uint64_t id) noexcept;

/// The calling thread's name, which ends in a zero byte; nothing where it has none. Async-signal-safe.
void read_thread_name(char (&name)[17]) noexcept;

/// Whether the calling thread blocks any signal, as it does in most handlers. Async-signal-safe.
[[nodiscard]] bool blocks_signals() noexcept;

}  // namespace kymo::record
