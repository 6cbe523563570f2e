// A thread for work that would block the user interface. It returns the results to it.
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

/// Runs tasks one at a time. All functions are for the thread that owns it. If threads are unavailable, deliver() runs
/// the tasks.
class Worker {
 public:
  /// Takes over a result. Called by deliver().
  using Delivery = std::function<void()>;
  /// Work that returns a result.
  using Task = std::function<Delivery()>;
  using Key = std::uint64_t;
  /// Loads the item of a key.
  using Load = std::function<Delivery(Key)>;

  Worker(bool has_thread, Load load);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Ends after the current task.
  ~Worker();

  /// Runs this before all loads.
  void ask(Task task);
  /// Replaces the items to load, the most important first.
  void want(std::vector<Key> keys);
  /// Calls the deliveries of all finished work. Returns whether there were any. Without a thread, works for the given
  /// time first.
  bool deliver(std::chrono::nanoseconds budget);
  /// Whether any work or delivery is pending.
  [[nodiscard]] bool is_busy() const;
  /// Returns when there is a result to deliver or nothing to do.
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
