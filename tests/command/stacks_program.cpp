// Works in functions of known names and prints each one's CPU time by the thread's own clock. With an argument: so many
// rounds of 4 ms or so.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#ifdef WITH_SCOPES
#include <kymo/kymo.hpp>
#else
#define KYMO_SCOPE(name) static_cast<void>(name)
#endif

namespace shop {

std::int64_t cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

volatile double kept = 0;

#ifndef WORK
#define WORK [[gnu::noinline]]
#endif

/// The same work in each: a chain of dependent divisions, in a variable that needs a frame on the stack.
WORK void weigh(int units) {
  volatile double value = kept;
  for (int i = 0; i < units * 100'000; ++i) {
    value = 1 / (value + 1.5);
  }
  kept = value;
}
WORK void count(int units) {
  volatile double value = kept;
  for (int i = 0; i < units * 100'000; ++i) {
    value = 1 / (value + 2.5);
  }
  kept = value;
}

struct Cart {
  std::int64_t weighed_ns = 0;
  std::int64_t counted_ns = 0;

  [[gnu::noinline]] void fill() {
    const std::int64_t start_ns = cpu_ns();
    {
      KYMO_SCOPE("weighing");
      weigh(3);
    }
    const std::int64_t middle_ns = cpu_ns();
    count(1);
    weighed_ns += middle_ns - start_ns;
    counted_ns += cpu_ns() - middle_ns;
  }
};

}  // namespace shop

int main(int argument_count, char** arguments) {
#ifdef WITH_SCOPES
  kymo::enable();
#endif
  shop::Cart cart;
  const int rounds = argument_count > 1 ? std::atoi(arguments[1]) : 150;
  for (int i = 0; i < rounds; ++i) {
    cart.fill();
  }
  std::printf("shop::weigh %lld\nshop::count %lld\n", static_cast<long long>(cart.weighed_ns),
              static_cast<long long>(cart.counted_ns));
  return 0;
}
