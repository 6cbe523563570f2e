// Detects growing and new captures and wakes waiting threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "serve/live/catalogue.hpp"

namespace kymo::serve {

/// A thread that polls files' sizes, because network file systems do not notify of changes.
class GrowthWatch {
 public:
  /// Checks growing captures once per period and everything else once in ten periods, so a capture is announced at most
  /// that often. The catalogue must outlive the watch.
  GrowthWatch(Catalogue& catalogue, std::chrono::milliseconds period);
  GrowthWatch(const GrowthWatch&) = delete;
  GrowthWatch& operator=(const GrowthWatch&) = delete;
  ~GrowthWatch();

  /// Waits until the catalogue differs from a generation or the timeout expires. Returns whether it differs. Thread
  /// safe.
  [[nodiscard]] bool wait(std::uint64_t generation, std::chrono::milliseconds timeout) const;

  /// Ends all present and future waits. Thread safe.
  void stop();

 private:
  void run(std::chrono::milliseconds period);

  Catalogue& catalogue_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace kymo::serve
