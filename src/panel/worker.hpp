// One thread that does what would make the user interface wait, and hands the results back to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

namespace kymo::panel {

/// Does tasks one at a time. All functions are for the one thread that owns it. Where threads cannot be had, deliver()
/// does them.
class Worker {
 public:
  /// Takes a result over; called by deliver().
  using Delivery = std::function<void()>;
  /// Work that ends in a result.
  using Task = std::function<Delivery()>;
  using Key = std::uint64_t;
  /// Loads what a key stands for.
  using Load = std::function<Delivery(Key)>;

  Worker(bool has_thread, Load load);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Ends after the task at hand.
  ~Worker();

  /// Does this before anything that is to be loaded.
  void ask(Task task);
  /// What to load, the most wanted first, in place of what was wanted before.
  void want(std::vector<Key> keys);
  /// Calls the deliveries of all that is done; whether there was any. Without a thread, works for the time given first.
  bool deliver(std::chrono::nanoseconds budget);
  /// Whether anything is still to be done or delivered.
  [[nodiscard]] bool is_busy() const;
  /// Returns when there is something to deliver or nothing to do.
  void wait() const;

 private:
  [[nodiscard]] bool has_work() const { return !tasks_.empty() || !wanted_.empty(); }
  bool do_next(std::unique_lock<std::mutex>& lock);
  void run();

  Load load_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::deque<Key> wanted_;
  std::vector<Delivery> done_;
  std::unordered_set<Key> done_keys_;  // loaded or being loaded, and not delivered yet
  bool is_working_ = false;
  bool stops_ = false;
  bool has_thread_ = false;
  std::thread thread_;
};

}  // namespace kymo::panel
