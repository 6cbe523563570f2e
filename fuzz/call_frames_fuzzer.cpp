// A file that a process executes, and the process's stack: followed by what the file says, whatever that is. The
// process that reads it may end over it, the recording not.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.hpp"
#include "threads/stacks/unwinder.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kymo::threads;
  constexpr std::uint64_t address = 0x400000;
  constexpr std::uint64_t stack_address = 0x7ffc00000000;
  constexpr std::uint32_t inputs_a_process = 256;
  static std::unique_ptr<Unwinder> unwinder;
  static std::uint32_t module = inputs_a_process;
  if (module == inputs_a_process) {
    unwinder = std::make_unique<Unwinder>();
    module = 0;
  }
  ++module;
  const kymo::base::FileDescriptor file(::memfd_create("elf", MFD_CLOEXEC));
  struct stat status {};
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size) || ::fstat(file.get(), &status) != 0) {
    return 0;
  }
  // The reading process has files of its own under these numbers.
  const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file.get());
  KernelRecord mapping;
  mapping.kind = KernelRecord::Kind::mapped;
  mapping.pid = 1;
  mapping.address = address;
  mapping.size = size + 1;
  AddressSpaces spaces;
  spaces.map(mapping, module);
  for (std::uint64_t place = 0; place < size; place += 1 + size / 16) {
    KernelRecord sample;
    sample.pid = 1;
    sample.registers.assign(register_count, stack_address + place % 64);
    sample.registers[program_counter] = address + place;
    sample.stack.resize(1024);
    // Return addresses within the file, and places within the stack.
    for (std::size_t at = 0; at < sample.stack.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = at % 3 == 0 ? stack_address + data[at % size] : address + data[(at * 7) % size] * 16U;
      std::memcpy(sample.stack.data() + at, &word, sizeof word);
    }
    unwinder->unwind(sample, spaces, [&](std::uint32_t) { return Unwinder::File{path, status.st_ino}; });
    static_cast<void>(unwinder->find_source(module, path, status.st_ino, place));
    if (sample.chain.size() > Unwinder::most_frames) {
      std::abort();
    }
  }
  return 0;
}
