// The main thread joins 30 threads, each of which computes for 5 ms. With an argument the last one ends the process.
#include <pthread.h>

#include <cstdlib>
#include <ctime>
#include <thread>

namespace {

constexpr int rounds = 30;

void compute(long ns) {
  const auto now_ns = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000L + time.tv_nsec;
  };
  const long until_ns = now_ns() + ns;
  while (now_ns() < until_ns) {
  }
}

}  // namespace

int main(int argc, char** /*argv*/) {
  for (int round = 0; round < rounds; ++round) {
    const bool ends_process = argc > 1 && round == rounds - 1;
    std::thread worker([ends_process] {
      ::pthread_setname_np(::pthread_self(), ends_process ? "last" : "worker");
      compute(ends_process ? 100'000'000 : 5'000'000);
      if (ends_process) {
        std::exit(0);
      }
    });
    worker.join();
  }
  return 0;
}
