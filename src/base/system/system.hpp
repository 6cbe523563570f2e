// Common interface to system functions with different names.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/system/file.hpp"

namespace kymo::base {

/// Identifies the machine's current boot; empty if the system does not provide it.
[[nodiscard]] std::string boot_id();

/// Start time of a process (0: this one) in the system's units. Together with the process id, it distinguishes the
/// process from earlier ones with the same id. 0 if unknown.
[[nodiscard]] std::uint64_t process_start(std::uint64_t pid = 0);

/// Whether a process of that id exists and has not ended: one that waits for its parent to notice its end has.
[[nodiscard]] bool is_process(std::uint64_t pid);

/// Identifies the namespace of this process's id; 0 if the system does not provide that.
[[nodiscard]] std::uint64_t pid_namespace() noexcept;
/// That of the machine's first process, outside of containers.
inline constexpr std::uint64_t first_pid_namespace = 0xEFFFFFFC;  // Linux: PROC_PID_INIT_INO

/// What this process's time namespace adds to the kernel's own CLOCK_MONOTONIC, in nanoseconds: 0 outside of such
/// namespaces. None if that cannot be read. Linux only.
[[nodiscard]] std::optional<std::int64_t> time_namespace_offset_ns();

/// Writes a short text to standard error. Drops it where that would wait for a reader, and raises no signal.
void write_to_stderr(std::string_view text) noexcept;

/// Sends a signal to the calling thread, with the received signal's siginfo if the system allows it. Async-signal-safe.
void send_again(int signal, siginfo_t& info) noexcept;

/// Has the file system reserve space for a part of a file, also behind its end, without changing its size. 0, or the
/// errno of the failure: EOPNOTSUPP if unsupported.
[[nodiscard]] int reserve_space(int file, std::uint64_t from, std::uint64_t bytes) noexcept;

/// Half of the memory that is available without swapping, and in the process's control groups, in bytes: what a
/// recording may take without harm to others. The greatest number if the system does not report it. Some 0.1 ms.
[[nodiscard]] std::uint64_t spare_memory();
/// The memory in bytes that its control groups leave to a process, where `mount` has them; `membership` is a file like
/// /proc/self/cgroup. The greatest number if none has a limit. Linux only.
[[nodiscard]] std::uint64_t control_group_room(const std::string& membership, const std::string& mount);
/// The same of the free room of a directory in memory (tmpfs); 0 for other directories.
[[nodiscard]] std::uint64_t spare_room(const std::string& directory);

/// Flushes written data to stable storage. 0, or -1 with errno set.
[[nodiscard]] int sync_data(int file) noexcept;

/// Creates a file without a name in a directory; it disappears when its descriptor is closed. None, with errno set, if
/// unsupported.
[[nodiscard]] FileDescriptor open_unnamed(const std::string& directory);

/// Resident memory of this process in bytes: current and peak. Linux reads /proc/self/statm and VmHWM of
/// /proc/self/status, macOS the task's resident size; a browser counts the program's whole memory. 0 if it cannot be
/// read. A few microseconds.
[[nodiscard]] std::uint64_t resident_bytes() noexcept;
[[nodiscard]] std::uint64_t peak_resident_bytes() noexcept;

/// Names the calling thread for debuggers and system tools, in at most 15 characters.
void name_this_thread(const char* name) noexcept;

/// Whether the main thread has ended, by pthread_exit(), and all others bear names of kymo's threads. False where that
/// cannot be told. About 20 us, some more once the main thread has ended.
[[nodiscard]] bool are_other_threads_gone();

/// An environment variable's value. Null if it is not set or the program runs with more rights than its caller
/// (set-user-ID).
[[nodiscard]] const char* trusted_variable(const char* name) noexcept;

enum class LockOutcome { taken, refused, unsupported };

/// Locks one byte of a file that is open for writing. The lock belongs to the open file, not to the process: other
/// descriptors of the file may be opened and closed. It ends when the last copy of this descriptor is closed. With
/// `waits`, blocks until another holder releases the lock.
[[nodiscard]] LockOutcome lock_byte(int file, std::uint64_t byte, bool waits = false) noexcept;

/// The other holder of a lock on a byte: a process id, 0 if it is not visible from here, -1 if the lock belongs to an
/// open file. None if nobody holds it or locks are unsupported.
[[nodiscard]] std::optional<int> lock_holder(int file, std::uint64_t byte) noexcept;

/// Locks one byte of a file that is open for reading, beside others who do so, or ends that lock, whoever has copies of
/// the descriptor.
void share_byte(int file, std::uint64_t byte, bool is_locked = true) noexcept;

/// Whether another open file holds a lock on a byte. None if locks are unsupported.
[[nodiscard]] std::optional<bool> is_locked(int file, std::uint64_t byte) noexcept;

/// Whether a file is on a file system that other machines may have mounted too.
[[nodiscard]] bool is_shared_by_machines(int file) noexcept;

/// rename(2) that replaces nothing: EEXIST if `to` exists. 0, or -1 with errno set.
[[nodiscard]] int rename_to_new(const char* from, const char* to) noexcept;

}  // namespace kymo::base
