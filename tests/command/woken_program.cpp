// 100 frames of 2 ms, in each of which the main thread awaits what another thread makes. Every tenth takes 60 ms more,
// which stands out on a busy machine too.
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

#include <pthread.h>

#include <kymo/kymo.hpp>

namespace {

constexpr int frames = 100;

std::mutex mutex;
std::condition_variable changed;
int ordered = 0;
int cooked = 0;

void compute(std::int64_t ns) {
  const auto now_ns = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  const std::int64_t until_ns = now_ns() + ns;
  while (now_ns() < until_ns) {
  }
}

void cook() {
  ::pthread_setname_np(::pthread_self(), "cook");
  for (int dish = 1; dish <= frames; ++dish) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [dish] { return ordered >= dish; });
    }
    {
      KYMO_SCOPE("boil");
      compute(dish % 10 == 0 ? 61'000'000 : 1'000'000);
    }
    {
      const std::lock_guard lock(mutex);
      cooked = dish;
    }
    changed.notify_all();
  }
}

}  // namespace

int main() {
  kymo::enable();
  std::thread kitchen(cook);
  kymo::frame_mark();
  for (int dish = 1; dish <= frames; ++dish) {
    compute(1'000'000);
    {
      const std::lock_guard lock(mutex);
      ordered = dish;
    }
    changed.notify_all();
    {
      KYMO_SCOPE("await dish");
      std::unique_lock lock(mutex);
      changed.wait(lock, [dish] { return cooked >= dish; });
    }
    kymo::frame_mark();
  }
  kitchen.join();
  return 0;
}
