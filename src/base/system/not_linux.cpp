// What macOS and browsers lack.
#include <cerrno>
#include <csignal>
#include <limits>

#include "base/system/system.hpp"

namespace kymo::base {

std::uint64_t process_start(std::uint64_t /*pid*/) {
  return 0;
}

bool is_process(std::uint64_t pid) {
  return pid != 0 && pid <= 0x7FFFFFFF && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH);
}

bool are_other_threads_gone() {
  return false;
}

std::uint64_t pid_namespace() noexcept {
  return 0;
}

int reserve_space(int /*file*/, std::uint64_t /*from*/, std::uint64_t /*bytes*/) noexcept {
  return EOPNOTSUPP;
}

std::uint64_t spare_memory() {
  return std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t spare_room(const std::string& /*directory*/) {
  return 0;
}

// The files of a WebAssembly program are private to it: no other process locks them. macOS's locks belong to the
// process: closing any other descriptor of the file releases them.
LockOutcome lock_byte(int /*file*/, std::uint64_t /*byte*/, bool /*waits*/) noexcept {
  return LockOutcome::unsupported;
}

std::optional<int> lock_holder(int /*file*/, std::uint64_t /*byte*/) noexcept {
  return std::nullopt;
}

void share_byte(int /*file*/, std::uint64_t /*byte*/, bool /*is_locked*/) noexcept {}

std::optional<bool> is_locked(int /*file*/, std::uint64_t /*byte*/) noexcept {
  return std::nullopt;
}

}  // namespace kymo::base
