// A bounded queue between threads: a producer that is too fast waits, and the recording shows how long.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <kymo/kymo.hpp>

namespace tree_walk {

/// Any number of threads may push and pop.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Waits for room, then appends the item. Returns the new length.
  std::size_t push(T item) {
    std::unique_lock lock(mutex_);
    if (items_.size() == capacity_) {
      KYMO_SCOPE("wait for room");
      has_room_.wait(lock, [this] { return items_.size() < capacity_; });
    }
    items_.push_back(std::move(item));
    const std::size_t length = items_.size();
    // Unlocks first, so that the woken thread does not wait for the lock.
    lock.unlock();
    has_items_.notify_one();
    return length;
  }

  /// Waits for an item and takes it. Returns nothing once the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    if (items_.empty() && !is_closed_) {
      KYMO_SCOPE("wait for work");
      has_items_.wait(lock, [this] { return !items_.empty() || is_closed_; });
    }
    if (items_.empty()) {
      return std::nullopt;
    }
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    has_room_.notify_one();
    return item;
  }

  /// Ends the input.
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    has_items_.notify_all();
  }

 private:
  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_items_;
  std::deque<T> items_;
  bool is_closed_ = false;
};

}  // namespace tree_walk
