#include "sense/sampler/stop_signal.hpp"

#include "base/system/clock.hpp"
#include "base/system/futex.hpp"

namespace kymo::sense {

bool StopSignal::sleep_until(std::int64_t deadline_ns) noexcept {
  while (!is_raised()) {
    if (base::monotonic_now_ns() >= deadline_ns) {
      return true;
    }
    base::private_futex_wait_until(word(), 0, deadline_ns);
  }
  return false;
}

void StopSignal::raise() noexcept {
  is_raised_.store(1, std::memory_order_release);
  base::private_futex_wake_all(word());
}

}  // namespace kymo::sense
