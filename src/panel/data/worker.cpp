// The background thread of the user interface.
#include "panel/data/worker.hpp"

#include <system_error>
#include <utility>

namespace kymo::panel {

Worker::Worker(bool has_thread, Load load) : load_(std::move(load)), has_thread_(has_thread) {
  if (has_thread_) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      has_thread_ = false;
    }
  }
}

Worker::~Worker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Worker::ask(Task task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Worker::want(std::vector<Key> keys) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wanted_.clear();
    for (const Key key : keys) {
      if (done_keys_.count(key) == 0) {
        wanted_.push_back(key);
      }
    }
  }
  changed_.notify_all();
}

bool Worker::do_next(std::unique_lock<std::mutex>& lock) {
  if (!has_work()) {
    return false;
  }
  is_working_ = true;
  Delivery delivery;
  if (!tasks_.empty()) {
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    delivery = task();
  } else {
    const Key key = wanted_.front();
    wanted_.pop_front();
    done_keys_.insert(key);
    lock.unlock();
    delivery = load_(key);
  }
  lock.lock();
  done_.push_back(std::move(delivery));
  is_working_ = false;
  return true;
}

void Worker::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stops_) {
    if (do_next(lock)) {
      changed_.notify_all();
    } else {
      changed_.wait(lock, [this] { return stops_ || has_work(); });
    }
  }
}

bool Worker::deliver(std::chrono::nanoseconds budget) {
  std::vector<Delivery> done;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!has_thread_) {
      const auto end = std::chrono::steady_clock::now() + budget;
      while (do_next(lock) && std::chrono::steady_clock::now() < end) {
      }
    }
    done.swap(done_);
    if (!is_working_) {
      done_keys_.clear();
    }
  }
  for (const Delivery& delivery : done) {
    if (delivery) {
      delivery();
    }
  }
  return !done.empty();
}

bool Worker::is_busy() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_working_ || has_work() || !done_.empty();
}

void Worker::wait() const {
  std::unique_lock<std::mutex> lock(mutex_);
  if (has_thread_) {
    changed_.wait(lock, [this] { return !done_.empty() || (!is_working_ && !has_work()); });
  }
}

}  // namespace kymo::panel
