#include "threads/states/event_windows.hpp"

#include <algorithm>

#include "base/system/clock.hpp"

namespace kymo::threads {
namespace {

/// For so long the event is on before it is looked how often it came.
constexpr std::int64_t window_ns = 6'000'000;

}  // namespace

void EventWindows::start(std::int64_t now_ns) {
  since_ns_ = now_ns;
  until_ns_ = now_ns + window_ns;
}

void EventWindows::look(std::int64_t now_ns, const std::function<void(bool is_on)>& switch_event) {
  constexpr std::int64_t least_look_ns = 50'000'000;
  if (now_ns < until_ns_) {
    return;
  }
  const std::int64_t elapsed_ns = now_ns - since_ns_;
  const double rate_hz = static_cast<double>(seen_) * 1e9 / static_cast<double>(std::max<std::int64_t>(elapsed_ns, 1));
  since_ns_ = now_ns;
  seen_ = 0;
  if (!is_on_) {
    is_on_ = true;
    switch_event(true);
    until_ns_ = now_ns + window_ns;
    return;
  }
  if (rate_hz <= (is_always_ ? most_hz_ : most_hz_ / 2)) {
    is_always_ = true;
    until_ns_ = now_ns + least_look_ns;
    return;
  }
  is_always_ = false;
  is_on_ = false;
  const std::int64_t before_ns = base::monotonic_now_ns();
  switch_event(false);
  // Where many threads make the switching slow, it is done less often.
  const std::int64_t spent_ns = base::monotonic_now_ns() - before_ns;
  const double pauses = std::clamp(rate_hz / enough_hz_, 16.0, 64.0) - 1;
  const auto looked_ns = static_cast<double>(std::clamp(elapsed_ns, window_ns, 10 * window_ns) + spent_ns);
  until_ns_ = now_ns + static_cast<std::int64_t>(pauses * looked_ns);
}

}  // namespace kymo::threads
