// Waits with a deadline for events elsewhere.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace kymo::test {

/// Waits until the condition holds. Returns false after half a minute.
[[nodiscard]] inline bool wait_until(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace kymo::test
