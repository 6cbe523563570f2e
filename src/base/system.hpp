// What systems offer alike under different names.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

#include "base/file.hpp"

namespace kymo::base {

/// What tells boots of this machine apart; empty where the system does not say.
[[nodiscard]] std::string boot_id();

/// When a process (0: this one) started, as the system counts it: with its number, what tells it from those before it.
/// 0 where it is not known.
[[nodiscard]] std::uint64_t process_start(std::uint64_t pid = 0);

/// Sends a signal to the calling thread, with the facts of one that it got where the system lets it. Async-signal-safe.
void send_again(int signal, siginfo_t& info) noexcept;

/// Gives a file its whole size and the room for it. 0, or the errno of why not.
[[nodiscard]] int reserve_space(int file, std::uint64_t bytes) noexcept;

/// Has the file system keep room behind a file's end, whose size stays. 0, or the errno of why not: EOPNOTSUPP where it
/// keeps none.
[[nodiscard]] int reserve_behind_end(int file, std::uint64_t from, std::uint64_t bytes) noexcept;

/// Returns once what was written lies where a loss of power leaves it. 0, or -1 with errno set.
[[nodiscard]] int sync_data(int file) noexcept;

/// A new file in a directory that no name leads to and that goes with its descriptor; none with errno set where that
/// cannot be.
[[nodiscard]] FileDescriptor open_unnamed(const std::string& directory);

enum class LockOutcome { taken, refused, unsupported };

/// Locks one byte of a file that is open for writing. The lock belongs to the open file, not to the process: other
/// descriptors of the file may come and go, and it ends when the last copy of this one is closed. `waits`: until
/// another's lock ends.
[[nodiscard]] LockOutcome lock_byte(int file, std::uint64_t byte, bool waits = false) noexcept;

/// Who else holds a lock on a byte: a process's id, 0 where that is not to be seen from here, -1 where it is an open
/// file's. Nothing where nobody does or nobody can.
[[nodiscard]] std::optional<int> lock_holder(int file, std::uint64_t byte) noexcept;

/// Whether a file is on a file system that other machines may have mounted too.
[[nodiscard]] bool is_shared_by_machines(int file) noexcept;

/// rename(2) that replaces nothing: EEXIST where `to` is there. 0, or -1 with errno set.
[[nodiscard]] int rename_to_new(const char* from, const char* to) noexcept;

}  // namespace kymo::base
