// Waits often for a short time and seldom for a long one, each in a function of its own, and prints the long waits'
// elapsed time in ns.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include <time.h>
#include <unistd.h>

namespace shop {

// Functions that are found by frame pointers are missing where they call what has none: these call one more.
[[gnu::noinline]] void receive(int from) {
  char byte = 0;
  static_cast<void>(!::read(from, &byte, 1));
}
[[gnu::noinline]] void wait_shortly(int to, int from) {
  static_cast<void>(!::write(to, "", 1));
  receive(from);
}
[[gnu::noinline]] void sleep() {
  const timespec time{0, 2'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}
[[gnu::noinline]] void wait_long() {
  sleep();
}

/// Some 20 us.
[[gnu::noinline]] void weigh() {
  volatile double value = 0;
  for (int i = 0; i < 5'000; ++i) {
    value = 1 / (value + 1.5);
  }
}

/// Gives each byte back, until there are no more.
void answer(int from, int to) {
  for (char byte = 0; ::read(from, &byte, 1) == 1;) {
    static_cast<void>(!::write(to, &byte, 1));
  }
}

}  // namespace shop

int main() {
  int there[2];
  int back[2];
  if (::pipe(there) != 0 || ::pipe(back) != 0) {
    return 1;
  }
  std::thread partner(shop::answer, there[0], back[1]);
  std::int64_t long_ns = 0;
  for (int i = 0; i < 200; ++i) {
    for (int j = 0; j < 40; ++j) {
      shop::weigh();
      shop::wait_shortly(there[1], back[0]);
    }
    const auto start = std::chrono::steady_clock::now();
    shop::wait_long();
    long_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  }
  ::close(there[1]);
  partner.join();
  std::printf("long %lld\n", static_cast<long long>(long_ns));
}
