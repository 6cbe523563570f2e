#include <fcntl.h>
#include <sys/mount.h>
#include <sys/sysctl.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/system.hpp"

namespace kymo::base {

std::string boot_id() {
  std::array<char, 64> text{};
  std::size_t size = text.size() - 1;
  return ::sysctlbyname("kern.bootsessionuuid", text.data(), &size, nullptr, 0) == 0 ? std::string(text.data())
                                                                                     : std::string();
}

std::uint64_t process_start(std::uint64_t /*pid*/) {
  return 0;
}

void send_again(int signal, siginfo_t& /*info*/) noexcept {
  ::raise(signal);
}

int reserve_space(int file, std::uint64_t bytes) noexcept {
  fstore_t room{F_ALLOCATEALL, F_PEOFPOSMODE, 0, static_cast<off_t>(bytes), 0};
  if (::fcntl(file, F_PREALLOCATE, &room) != 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    return errno;
  }
  return 0;
}

int reserve_behind_end(int /*file*/, std::uint64_t /*from*/, std::uint64_t /*bytes*/) noexcept {
  return EOPNOTSUPP;
}

int sync_data(int file) noexcept {
  // fsync() leaves it to the drive; not every file system knows more.
  return ::fcntl(file, F_FULLFSYNC) == 0 ? 0 : ::fsync(file);
}

FileDescriptor open_unnamed(const std::string& directory) {
  std::string path = directory + "/.kymo-unnamed-XXXXXX";
  FileDescriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (file) {
    ::unlink(path.c_str());
  }
  return file;
}

// Its locks belong to processes alone: any other descriptor that is closed ends them.
LockOutcome lock_byte(int /*file*/, std::uint64_t /*byte*/, bool /*waits*/) noexcept {
  return LockOutcome::unsupported;
}

std::optional<int> lock_holder(int /*file*/, std::uint64_t /*byte*/) noexcept {
  return std::nullopt;
}

bool is_shared_by_machines(int file) noexcept {
  struct statfs system {};
  return ::fstatfs(file, &system) != 0 || (system.f_flags & MNT_LOCAL) == 0;
}

int rename_to_new(const char* from, const char* to) noexcept {
  return ::renamex_np(from, to, RENAME_EXCL);
}

}  // namespace kymo::base
