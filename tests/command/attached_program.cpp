// Works in two threads of known names, starts others again and again, and ends well once the file "stop" exists.
#include <atomic>
#include <cstdio>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace shop {

std::atomic<bool> is_open{true};
volatile double kept = 0;

[[gnu::noinline]] void weigh() {
  volatile double value = kept;
  for (int i = 0; i < 100'000; ++i) {
    value = 1 / (value + 1.5);
  }
  kept = value;
}
[[gnu::noinline]] void count() {
  volatile double value = kept;
  for (int i = 0; i < 100'000; ++i) {
    value = 1 / (value + 2.5);
  }
  kept = value;
}
[[gnu::noinline]] void help() {
  volatile double value = kept;
  for (int i = 0; i < 1'000'000; ++i) {
    value = 1 / (value + 3.5);
  }
  kept = value;
}

void work(const char* name, void (*task)()) {
  ::pthread_setname_np(::pthread_self(), name);
  while (is_open) {
    task();
  }
}

/// A file that holds this process's number.
void say(const char* name) {
  std::FILE* const file = std::fopen(name, "w");
  std::fprintf(file, "%d\n", static_cast<int>(::getpid()));
  std::fclose(file);
}

}  // namespace shop

int main() {
  std::thread weigher(shop::work, "weigher", shop::weigh);
  std::thread counter(shop::work, "counter", shop::count);
  shop::say("ready");
  while (::access("stop", F_OK) != 0) {
    std::thread(shop::help).join();
    ::usleep(1000);
  }
  shop::is_open = false;
  weigher.join();
  counter.join();
  shop::say("ended");
  return 0;
}
