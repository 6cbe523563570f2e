// A WebAssembly program has files of its own alone, which nobody else locks or fills.
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "base/system.hpp"

namespace kymo::base {

std::string boot_id() {
  return {};
}

std::uint64_t process_start(std::uint64_t /*pid*/) {
  return 0;
}

void send_again(int /*signal*/, siginfo_t& /*info*/) noexcept {}

int reserve_space(int file, std::uint64_t bytes) noexcept {
  return ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
}

int reserve_behind_end(int /*file*/, std::uint64_t /*from*/, std::uint64_t /*bytes*/) noexcept {
  return EOPNOTSUPP;
}

int sync_data(int file) noexcept {
  return ::fdatasync(file);
}

FileDescriptor open_unnamed(const std::string& directory) {
  std::string path = directory + "/.kymo-unnamed-XXXXXX";
  FileDescriptor file(::mkstemp(path.data()));
  if (file) {
    ::unlink(path.c_str());
  }
  return file;
}

LockOutcome lock_byte(int /*file*/, std::uint64_t /*byte*/, bool /*waits*/) noexcept {
  return LockOutcome::unsupported;
}

std::optional<int> lock_holder(int /*file*/, std::uint64_t /*byte*/) noexcept {
  return std::nullopt;
}

bool is_shared_by_machines(int /*file*/) noexcept {
  return false;
}

int rename_to_new(const char* from, const char* to) noexcept {
  return std::rename(from, to);
}

}  // namespace kymo::base
