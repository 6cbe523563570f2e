// Sees captures grow and new ones come, and wakes who waits for that.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "serve/catalogue.hpp"

namespace kymo::serve {

/// One thread that looks at files. By their sizes, since network file systems tell nobody of changes.
class GrowthWatch {
 public:
  /// Looks at what grows once a period, and at everything else once in ten, so that a capture is announced at most that
  /// often. The catalogue must outlive the watch.
  GrowthWatch(Catalogue& catalogue, std::chrono::milliseconds period);
  GrowthWatch(const GrowthWatch&) = delete;
  GrowthWatch& operator=(const GrowthWatch&) = delete;
  ~GrowthWatch();

  /// Waits until something differs from a generation of the catalogue, at most so long; whether it does. Thread safe.
  [[nodiscard]] bool wait(std::uint64_t generation, std::chrono::milliseconds timeout) const;

  /// Ends all waiting, now and later. Thread safe.
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
