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

/// The signals that the calling thread blocks, as it does in most handlers: a bit each, without those that
/// hold_signals() holds back. Async-signal-safe.
[[nodiscard]] std::uint64_t blocked_signals() noexcept;
[[nodiscard]] inline bool blocks_signals() noexcept {
  return blocked_signals() != 0;
}

/// Changes the calling thread's signal mask as sigprocmask does, signal N being bit N - 1. Returns the mask before, or
/// all signals if the system refuses. Async-signal-safe.
std::uint64_t change_signal_mask(int how, const std::uint64_t* signals) noexcept;

/// Holds back the signals whose handlers could interrupt the calling thread anywhere, until as many releases. Faults
/// still arrive. Async-signal-safe; a system call each.
void hold_signals() noexcept;
void release_signals() noexcept;

class SignalsHeld {
 public:
  SignalsHeld() noexcept { hold_signals(); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { release_signals(); }
};

/// Whether this is the first copy of the recorder in this process image. `claim` holds the resource that tells a second
/// copy so; it is released when the process ends or calls exec. Also true if the system has no such resource, and in a
/// WebAssembly program, which is a single image.
[[nodiscard]] bool claim_process(base::KnownFile& claim) noexcept;

/// Whether dlmopen() loaded this copy of the recorder into a namespace of its own. The C library there is not the
/// program's: its thread-specific values overwrite the program's, and the program's fork() runs no handler of it.
[[nodiscard]] bool is_in_own_namespace() noexcept;

}  // namespace kymo::record
