// Threads that share the work of a loop.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace live_panel {

class Workers {
 public:
  explicit Workers(unsigned count);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  /// Calls `work(begin, end)` for pieces of [0, count) on the workers and the caller's thread. Returns when all are
  /// done.
  void share(std::size_t count, const std::function<void(std::size_t begin, std::size_t end)>& work);

 private:
  void run(unsigned number);
  bool do_piece(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable is_done_;
  const std::function<void(std::size_t, std::size_t)>* work_ = nullptr;
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::size_t piece_ = 1;
  std::size_t running_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace live_panel
