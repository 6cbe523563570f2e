// A program that knows nothing of kymo and has many thread-specific keys before it loads a module that records. It ends
// with 1 where its address space grows with the number of threads that have ended.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>

namespace {

/// The size of the address space in pages.
long mapped_pages() {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

}  // namespace

int main(int /*argc*/, char** argv) {
  for (int i = 0; i < 40; ++i) {
    pthread_key_t key = 0;
    ::pthread_key_create(&key, nullptr);
  }
  void* const module = ::dlopen(argv[1], RTLD_NOW);
  if (module == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 2;
  }
  using Work = void (*)();
  const auto start = reinterpret_cast<Work>(::dlsym(module, "module_start"));
  const auto work = reinterpret_cast<Work>(::dlsym(module, "module_function"));
  start();
  const int threads = std::atoi(argv[2]);
  long early = 0;
  for (int i = 0; i < threads; ++i) {
    std::thread(work).join();
    early = i == threads / 4 ? mapped_pages() : early;
  }
  // A thread's hooked functions have a MiB of address space.
  const long grown = mapped_pages() - early;
  std::printf("%ld pages more\n", grown);
  return grown < 256L * 256 ? 0 : 1;
}
