#include <sys/resource.h>
#include <unistd.h>
#include <optional>

#include "sense/own_memory.hpp"
#include "sense/parse.hpp"
#include "sense/source_file.hpp"

namespace kymo::sense {

/// Opened anew each time: a descriptor of /proc/self kept over fork would go on to tell of the parent.
std::uint64_t resident_bytes() {
  SourceFile file("/proc/self/statm", 256);
  TextCursor text(file.read());
  text.word();
  static const long page_bytes = ::sysconf(_SC_PAGESIZE);
  return text.number().value_or(0) * static_cast<std::uint64_t>(page_bytes);
}

std::uint64_t peak_resident_bytes() {
  SourceFile file("/proc/self/status", 8192);
  TextCursor text(file.read());
  while (!text.at_end()) {
    TextCursor line(text.line());
    if (line.skip("VmHWM:")) {
      const std::optional<std::uint64_t> kilobytes = line.number();
      if (kilobytes) {
        return *kilobytes * 1024;
      }
    }
  }
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_maxrss) * 1024 : 0;
}

}  // namespace kymo::sense
