// macOS has no timers of this kind: the signal's own sleep does.
#include "sense/deadline_timer.hpp"

namespace kymo::sense {

void DeadlineTimer::open() noexcept {}

void DeadlineTimer::close() noexcept {}

bool DeadlineTimer::sleep_until(StopSignal& stop, std::int64_t deadline_ns, std::int64_t /*following_ns*/) noexcept {
  return stop.sleep_until(deadline_ns);
}

void DeadlineTimer::interrupt() noexcept {}

}  // namespace kymo::sense
