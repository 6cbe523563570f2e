// Runs code that it writes into memory, as compilers at run time do, and names it in /tmp/perf-PID.map. Prints that
// path.
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace {

/// Counts its argument down to 0 and returns.
#if defined(__x86_64__)
constexpr unsigned char code[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
constexpr unsigned char code[] = {0x00, 0x04, 0x00, 0x71, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
#endif

}  // namespace

int main() {
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(memory, code, sizeof code);
  ::mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(static_cast<char*>(memory), static_cast<char*>(memory) + sizeof code);
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  std::FILE* const map = std::fopen(path.c_str(), "w");
  std::fprintf(map, "%lx %zx compiled::count_down\n", reinterpret_cast<unsigned long>(memory), sizeof code);
  std::fclose(map);
  std::printf("%s\n", path.c_str());
  void (*count_down)(unsigned) = nullptr;
  std::memcpy(&count_down, &memory, sizeof memory);
  for (int i = 0; i < 8; ++i) {
    count_down(100'000'000);
  }
  return 0;
}
