#include "serve/live/growth_watch.hpp"

#include <exception>

namespace kymo::serve {

GrowthWatch::GrowthWatch(Catalogue& catalogue, std::chrono::milliseconds period)
    : catalogue_(catalogue), thread_([this, period] { run(period); }) {}

GrowthWatch::~GrowthWatch() {
  stop();
  thread_.join();
}

void GrowthWatch::run(std::chrono::milliseconds period) {
  constexpr unsigned seldom = 10;
  std::unique_lock lock(mutex_);
  for (unsigned looks = 0; !stops_; ++looks) {
    lock.unlock();
    bool has_changed = false;
    const bool is_quiet = !catalogue_.has_growing();
    try {
      has_changed = catalogue_.look(is_quiet || looks % seldom == 0);
    } catch (const std::exception&) {
      has_changed = false;  // out of memory or descriptors; the next look may succeed
    }
    lock.lock();
    if (has_changed) {
      changed_.notify_all();
    }
    changed_.wait_for(lock, catalogue_.has_growing() ? period : period * seldom, [this] { return stops_; });
  }
}

bool GrowthWatch::wait(std::uint64_t generation, std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return stops_ || catalogue_.generation() != generation; });
  return catalogue_.generation() != generation;
}

void GrowthWatch::stop() {
  const std::lock_guard lock(mutex_);
  stops_ = true;
  changed_.notify_all();
}

}  // namespace kymo::serve
