#include "workers.hpp"

#include <algorithm>
#include <string>

#include <kymo/kymo.hpp>

namespace live_panel {

Workers::Workers(unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    threads_.emplace_back([this, i] { run(i + 1); });
  }
}

Workers::~Workers() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Workers::share(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work) {
  std::unique_lock<std::mutex> lock(mutex_);
  work_ = &work;
  next_ = 0;
  end_ = count;
  piece_ = std::max<std::size_t>(count / (4 * (threads_.size() + 1)), 1);
  has_work_.notify_all();
  while (do_piece(lock)) {
  }
  KYMO_SCOPE("wait for workers");
  is_done_.wait(lock, [this] { return running_ == 0; });
}

bool Workers::do_piece(std::unique_lock<std::mutex>& lock) {
  if (next_ >= end_) {
    return false;
  }
  const std::size_t begin = next_;
  next_ = std::min(begin + piece_, end_);
  const std::size_t end = next_;
  ++running_;
  lock.unlock();
  (*work_)(begin, end);
  lock.lock();
  --running_;
  return true;
}

void Workers::run(unsigned number) {
  kymo::set_thread_name("worker " + std::to_string(number));
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stops_) {
    if (!do_piece(lock)) {
      if (running_ == 0) {
        is_done_.notify_all();
      }
      has_work_.wait(lock, [this] { return stops_ || next_ < end_; });
    }
  }
}

}  // namespace live_panel
