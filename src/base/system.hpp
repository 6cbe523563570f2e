// What systems offer alike under different names.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

#include "base/file.hpp"

namespace kymo::base {

/// What tells boots of this machine apart; empty where the system does not say.
[[nodiscard]] std::string boot_id();

/// When this process started, as the system counts it: with the process's number, what tells it from those before it. 0
/// where it is not known.
[[nodiscard]] std::uint64_t process_start();

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

}  // namespace kymo::base
