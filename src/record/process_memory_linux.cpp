#include "record/process_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.hpp"

namespace kymo::record {

std::uint64_t resident_memory_bytes() noexcept {
  // Opened anew each time: a descriptor of /proc/self kept over fork would go on to tell of the parent.
  const base::FileDescriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[128];
  const ssize_t size = file ? ::read(file.get(), static_cast<char*>(text), sizeof text) : -1;
  ssize_t at = 0;
  while (at < size && text[at] != ' ') {
    ++at;
  }
  std::uint64_t pages = 0;
  for (++at; at < size && text[at] >= '0' && text[at] <= '9'; ++at) {
    pages = pages * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  static const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return pages * static_cast<std::uint64_t>(page_bytes);
}

}  // namespace kymo::record
