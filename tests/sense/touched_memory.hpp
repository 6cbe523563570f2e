// Memory of which each page is resident.
#pragma once

#include <cstddef>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kymo::test {

/// The kernel itself maps and touches it: a sanitizer that sees a program do so touches memory of its own besides.
class TouchedMemory {
 public:
  explicit TouchedMemory(std::size_t bytes)
      : bytes_(bytes),
        address_(::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                           -1, 0L)) {
    if (address_ == -1) {
      throw std::runtime_error("no memory to touch");
    }
    // Emulators drop the wish for pages that are there at once.
    const long zeros = ::syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY | O_CLOEXEC);
    static_cast<void>(::syscall(SYS_read, zeros, address_, bytes_));
    ::syscall(SYS_close, zeros);
  }
  TouchedMemory(const TouchedMemory&) = delete;
  TouchedMemory& operator=(const TouchedMemory&) = delete;
  ~TouchedMemory() { ::syscall(SYS_munmap, address_, bytes_); }

 private:
  std::size_t bytes_;
  long address_;
};

}  // namespace kymo::test
