// A program that starts short threads for as long as it likes, and what the recorder holds of them.
//
//   churn_program CAPTURE THREADS
//
// Prints how many bytes of the heap were in use after the first tenth of the threads, after all of them, and how many
// scopes were opened.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

#include <kymo/kymo.hpp>

namespace {

constexpr int at_once = 8;

void start_threads(int count) {
  for (int started = 0; started < count; started += at_once) {
    std::vector<std::thread> threads;
    threads.reserve(at_once);
    for (int i = 0; i < at_once; ++i) {
      threads.emplace_back([] {
        KYMO_SCOPE("short");
        KYMO_SCOPE("inner", {"n", 1});
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    kymo::set_info("started", std::to_string(started));
  }
  kymo::flush();
}

std::size_t heap_in_use() {
  return mallinfo2().uordblks;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  const int threads = std::atoi(argv[2]);
  kymo::CaptureOptions options;
  options.path = std::string(argv[1]);
  if (!kymo::start_capture(options)) {
    return 1;
  }
  start_threads(threads / 10);
  const std::size_t early = heap_in_use();
  start_threads(threads - threads / 10);
  const std::size_t late = heap_in_use();
  std::printf("%zu %zu %d\n", early, late, 2 * threads);
  return 0;
}
