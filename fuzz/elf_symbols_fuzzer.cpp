// A file that a process executes: its functions are looked up, whatever it holds.
#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "threads/symbols/module_symbols.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const kymo::base::FileDescriptor file(::memfd_create("elf", MFD_CLOEXEC));
  struct stat status {};
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size) || ::fstat(file.get(), &status) != 0) {
    return 0;
  }
  const kymo::threads::ModuleSymbols symbols("/proc/self/fd/" + std::to_string(file.get()), status.st_ino);
  for (std::uint64_t offset = 0; offset < size; offset += 1 + size / 64) {
    static_cast<void>(symbols.find(offset));
  }
  static_cast<void>(symbols.find(UINT64_MAX));
  return 0;
}
