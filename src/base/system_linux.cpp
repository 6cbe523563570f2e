#include <cerrno>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cstdlib>

#include "base/system.hpp"

namespace kymo::base {

std::string boot_id() {
  std::string id = read_small_file("/proc/sys/kernel/random/boot_id");
  id.erase(id.find_last_not_of('\n') + 1);
  return id;
}

std::uint64_t process_start() {
  // The 22nd field. The second is a name in parentheses that may hold anything.
  const std::string stat = read_small_file("/proc/self/stat");
  std::size_t at = stat.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) {
    at = stat.find(' ', at + 1);
  }
  return at == std::string::npos ? 0 : std::strtoull(stat.c_str() + at, nullptr, 10);
}

void send_again(int signal, siginfo_t& info) noexcept {
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), signal, &info) != 0) {
    ::raise(signal);
  }
}

int reserve_space(int file, std::uint64_t bytes) noexcept {
  return ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
}

#ifdef __EMSCRIPTEN__
int reserve_behind_end(int /*file*/, std::uint64_t /*from*/, std::uint64_t /*bytes*/) noexcept {
  return EOPNOTSUPP;
}
#else
int reserve_behind_end(int file, std::uint64_t from, std::uint64_t bytes) noexcept {
  return ::fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}
#endif

int sync_data(int file) noexcept {
  return ::fdatasync(file);
}

FileDescriptor open_unnamed(const std::string& directory) {
  FileDescriptor file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) {
    return file;
  }
  // Not every file system has files without names.
  std::string path = directory + "/.kymo-unnamed-XXXXXX";
  file = FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
  if (file) {
    ::unlink(path.c_str());
  }
  return file;
}

}  // namespace kymo::base
